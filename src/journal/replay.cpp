#include "journal/journal_file.hpp"
#include "journal/session.hpp"

#include <troupe/journal/replay.hpp>
#include <troupe/plugin/executor.hpp>
#include <troupe/plugin/plugin_requests.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

result<replay_report> replay(const std::string& path, const replay_options& options) {
  if (options.tolerance && (*options.tolerance < 0 || options.exact)) {
    return error{.code = errc::invalid_argument,
                 .message = options.exact
                                ? std::string("replay_options: exact excludes a tolerance")
                                : fmt::format("replay_options::tolerance must be at least 0; it "
                                              "is {}",
                                              *options.tolerance)};
  }
  for (const std::string& one : options.environment) {
    if (const std::size_t name = one.find('='); name != 0 && name != std::string::npos) continue;
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("replay_options::environment takes NAME=value; it has \"{}\"", one)};
  }
  for (const std::string& plugin : options.on.plugins) {
    if (auto loaded = load_plugin_requests(plugin); !loaded) return std::move(loaded).error();
  }
  if (options.on.own_operations != nullptr) {
    operation_table known;  // their types become known to this program
    options.on.own_operations(known);
  }
  auto file = journal::journal_file::open(path);
  if (!file) return std::move(file).error();
  replay_report report;
  if (!file->damage().empty()) report.remarks.push_back(file->damage());
  bool any = false;
  for (const auto& [number, noted] : file->devices()) {
    if (options.device && *options.device != number) continue;
    any = true;
    journal::session one(*file, number, noted, options, report);
    if (auto run = one.run(); !run) return std::move(run).error();
    if (options.stop_at_difference && report.differing != 0) break;
  }
  if (options.device && !any) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} has no device {}", path, *options.device)};
  }
  return report;
}

}  // namespace troupe
