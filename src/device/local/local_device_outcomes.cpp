// Outcomes: journals of them, whether the outputs of a failed request stay defined, and the rest of
// its error.

#include "builtin/graph/requests/definition.hpp"
#include "device/local/fault_keeper.hpp"
#include "device/local/local_device.hpp"
#include "request/description/table.hpp"
#include "wire/codec.hpp"

#include <troupe/telemetry/request_journal.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// With the role. Decodes the bytes that were sent; `use` gets null if they no longer decode.
template <class Use>
void local_device::with_request(std::uint16_t slot, Use&& use) const {
  const request_type& type = *completions_->at(slot).type;
  std::vector<std::byte> storage(type.bytes + type.alignment);
  void* at = storage.data();
  std::size_t left = storage.size();
  at = std::align(type.alignment, type.bytes, at, left);
  type.construct(type.context, at);
  const auto destroy = [&type](void* made) { type.destroy(type.context, made); };
  const std::unique_ptr<void, decltype(destroy)> request(at, destroy);
  wire::address_ranges ranges{wire::address_range{device_memory_->base(), device_memory_->bytes()},
                              wire::address_range{host_memory_->base(), host_memory_->bytes()}};
  const std::uint32_t peers = requests_->shared()->peers.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < peers; ++i)
    ranges[wire::first_peer_pool + i] = wire::range_of_peer(*requests_->shared(), i);
  std::vector<wire::operand> operands;
  const auto decoded = wire::decode(type, at, requests_->sent_bytes(slot), ranges, operands);
  use(decoded ? at : nullptr);
}

// With the role.
bool local_device::keeps_outputs(std::uint16_t slot, errc code) const {
  const description_table& fields = *completions_->at(slot).type->fields;
  if (!fields.keeps_on_failure && fields.kept_outcomes.empty()) return false;
  bool keeps = false;
  with_request(slot, [&](const void* request) {
    keeps = request != nullptr && troupe::keeps_outputs(fields, request, code);
  });
  return keeps;
}

// With the role.
void local_device::complete_error(std::uint16_t slot, error& failure) {
  const record& r = completions_->at(slot);
  failure.device = ordinal_;
  // The error of a request that a lost worker left behind names that worker's generation, although
  // the next worker serves.
  if (failure.generation == 0) failure.generation = supervisor_->generation();
  // A worker reports a single reason for not knowing a request; the supervisor knows the whole one.
  if (failure.code == errc::library_missing && failure.library.empty() && !supervisor_->gone()) {
    error why = supervisor_->why_unknown(*r.type);
    failure.code = why.code;
    failure.message = std::move(why.message);
    failure.library = std::move(why.library);
  }
  if (!failure.request.empty()) return;
  // Failures are rare and requests are many: the text is decoded from the sent bytes only now.
  with_request(slot, [&](const void* request) {
    failure.request = request != nullptr ? graph::request_text(*r.type, request, r.losses.part)
                                         : std::string(r.type->name);
  });
}

// Before the first request and the first event.
void local_device::begin_journals() {
  answers& ends = completions_->ends(role(*completions_));
  if (config_.journal) {
    notes_ = std::make_unique<journal::request_notes>(
        journal::request_notes::parts{.writer = config_.journal->writer(),
                                      .device = static_cast<std::uint16_t>(ordinal_),
                                      .capacity = requests_->capacity(),
                                      .description = &description_,
                                      .device_memory = device_memory_.get(),
                                      .host_memory = host_memory_.get(),
                                      .blobs = &blobs_,
                                      .with_faults = config_.fault_injection});
    ends.note_to(notes_.get());
  }
  std::shared_ptr<request_tracer> hears = config_.tracer;
  if (notes_) {
    std::vector<std::shared_ptr<request_tracer>> all{
        std::make_shared<journal::event_notes>(*notes_)};
    if (hears) all.push_back(std::move(hears));
    hears = std::make_shared<tracer_list>(std::move(all));
  }
  journal_.report_to(std::move(hears), recorder_);
  if (!config_.fault_journal.folder.empty()) {
    faults_ = std::make_unique<fault_keeper>(*this);
    ends.on_fault([this](std::uint16_t slot, const error& why) { faults_->keep(slot, why); });
  }
}

}  // namespace troupe
