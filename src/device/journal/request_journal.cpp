#include "device/journal/journal_writer.hpp"

#include <troupe/telemetry/request_journal.hpp>

#include <utility>

namespace troupe {

request_journal::request_journal(std::shared_ptr<journal::journal_writer> writer) noexcept
    : writer_(std::move(writer)) {}
request_journal::~request_journal() = default;

result<std::shared_ptr<request_journal>> request_journal::open(const std::string& path,
                                                               const journal_options& options) {
  auto writer = journal::journal_writer::open(path, options);
  if (!writer) return std::move(writer).error();
  return std::shared_ptr<request_journal>(new request_journal(*std::move(writer)));
}

journal_statistics request_journal::statistics() const { return writer_->statistics(); }
bool request_journal::flush() { return writer_->flush(); }

}  // namespace troupe
