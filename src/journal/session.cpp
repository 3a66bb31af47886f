#include "journal/session.hpp"

#include "request/description/text.hpp"
#include "wire/layout.hpp"
#include "wire/reply.hpp"

#include <troupe/graph/run.hpp>
#include <troupe/lane/mapping.hpp>
#include <troupe/lane/rest.hpp>
#include <troupe/request/fields.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe::journal {
namespace {

// Enough to keep a device busy.
constexpr std::size_t most_running = 64;

bool overlap(std::uint64_t begin, std::uint64_t end, const wire::operand& o) noexcept {
  return o.pool == wire::host_pool && begin < o.end && o.begin < end;
}

// That of the program, with what the options add or replace.
std::shared_ptr<const std::vector<std::string>> environment_with(const replay_options& options) {
  auto all = std::make_shared<std::vector<std::string>>();
  if (options.on.worker_environment) *all = *options.on.worker_environment;
  for (char** one = environ; !options.on.worker_environment && *one != nullptr; ++one)
    all->emplace_back(*one);
  for (const std::string& one : options.environment) {
    const std::string_view name = std::string_view(one).substr(0, one.find('=') + 1);
    std::erase_if(*all, [&](const std::string& there) { return there.starts_with(name); });
    all->push_back(one);
  }
  return all;
}

}  // namespace

session::session(const journal_file& file, std::int32_t number, const noted_device& of,
                 const replay_options& options, replay_report& report)
    : file_(file),
      number_(number),
      of_(of),
      options_(options),
      report_(report),
      last_(options.to),
      memory_(of) {}

error session::unusable(const noted_request& r, errc code, std::string why) const {
  const auto name = of_.types.find(r.about.type);
  return error{
      .code = code,
      .message = fmt::format("journal, device {}, request {} ({}): {}", number_, r.about.ticket,
                             name == of_.types.end() ? "unknown" : name->second, why)};
}

result<void> session::prepare() {
  (void)request_type_of<graph::run>();
  (void)request_type_of<graph::run_conditional>();
  (void)request_type_of<lane::mapping>();
  find_end();
  find_checkpoint();
  if (auto whole = check_gaps(); !whole) return whole;
  std::size_t longest = 0;
  for (const auto& [ticket, r] : of_.requests) {
    longest = std::max(longest, r.frame.size());
    for (const auto* const all : {&r.contents, &r.seen}) {
      for (const bytes_note& one : *all)
        memory_.add(one);
    }
    const auto type = type_of(r);
    if (!type || (r.about.flags & send_note::is_part) != 0) continue;
    auto one = memory_.decode(**type, r.frame);
    if (!one) return unusable(r, errc::invalid_argument, one.error().message);
    memory_.add(one->operands);
  }

  device_config config = options_.on;
  const bool was_gpu = of_.fact("backend") == "cuda";
  if (config.backend == backend_kind::automatic) {
    config.backend = was_gpu ? backend_kind::cuda : backend_kind::cpu;
  }
  config.fault_injection = of_.fact("fault_injection") == "1";
  config.quarantine = std::chrono::nanoseconds::zero();
  config.standby = false;
  config.full = when_full::wait;
  config.restarts.restarts = std::max(config.restarts.restarts, 1000);
  config.mailbox_bytes = std::max<std::uint64_t>(config.mailbox_bytes, 4 * longest);
  if (!options_.environment.empty()) config.worker_environment = environment_with(options_);
  if ((config.backend == backend_kind::cuda) == was_gpu) config.blobs = of_.blobs;
  try {
    system_.emplace();
    device_.emplace(system_->device(number_, config));
  } catch (const failure& why) {
    return why.error();
  }
  const device_description& here = device_->description();
  const bool is_same = (config.backend == backend_kind::cuda) == was_gpu &&
                       here.name == of_.fact("name") && of_.fact("version") == TROUPE_VERSION;
  how_ = {.exact = options_.exact || (is_same && !options_.tolerance),
          .tolerance = options_.tolerance};
  report_.is_exact = how_.exact;
  if (!is_same) {
    report_.remarks.push_back(
        fmt::format("device {} was a {} with Troupe {}; it is replayed on a {} with {}", number_,
                    of_.fact("name"), of_.fact("version"), here.name, TROUPE_VERSION));
  }
  if (options_.against) {
    if (auto made = make_twin(config); !made) return made;
  }
  return memory_.allocate(*device_);
}

result<void> session::make_twin(device_config config) {
  const bool is_same = config.backend == *options_.against;
  config.backend = *options_.against;
  config.backend_path = is_same ? config.backend_path : std::string();
  config.worker_environment = nullptr;
  try {
    // Beside the first one, whose number is below.
    twin_.emplace(*system_, number_ + 1, config, memory_);
  } catch (const failure& why) {
    return why.error();
  }
  twin_how_ = {.exact = options_.exact || (is_same && !options_.tolerance),
               .tolerance = options_.tolerance};
  return twin_->allocate();
}

result<void> session::run() {
  if (auto ready = prepare(); !ready) return ready;
  for (const auto& [ticket, r] : of_.requests) {
    if (ticket > last_ || is_done()) break;
    if (begin_ && ticket <= begin_->last) {
      if (auto done = restore(r); !done) return done;
      continue;
    }
    if (r.about.type == 0) continue;  // only its end is there
    if (auto done = step(r); !done) return done;
  }
  if (!is_done()) {
    if (auto settled = settle_all(); !settled) return settled;
  }
  for (running& one : running_)
    (void)one.end.get_result();
  return {};
}

result<void> session::step(const noted_request& r) {
  const plan what = plan_of(r);
  auto type = type_of(r);
  if (!type) return std::move(type).error();
  const bool is_rest = (*type)->id == request_type_of<lane::rest>().id;
  if (what == plan::pass_over || is_rest) {
    if (!is_rest) ++report_.skipped;
    return {};
  }
  if ((r.about.flags & send_note::is_part) != 0) {
    return unusable(r, errc::unsupported, "requests for several devices cannot be replayed");
  }
  if ((r.about.flags & send_note::is_bound) != 0) {
    return unusable(r, errc::unsupported,
                    "it reads a bound set, whose addresses are those of its program");
  }
  auto one = memory_.decode(**type, r.frame);
  if (!one) return unusable(r, errc::invalid_argument, one.error().message);
  if ((*type)->id == request_type_of<lane::mapping>().id) return replay_mapping(r, *one);
  while (std::ranges::any_of(
      running_, [&](const running& earlier) { return in_conflict(earlier, r, one->operands); })) {
    if (auto settled = settle_one(); !settled) return settled;
  }
  while (running_.size() >= (what == plan::run_alone ? 1 : most_running)) {
    if (auto settled = settle_one(); !settled) return settled;
  }
  if (is_done()) return {};
  if (auto given = give_contents(r); !given) return given;
  if (twin_) return run_against(r, **type);
  if (auto sent = send(r, **type, *std::move(one)); !sent) return sent;
  return what == plan::run_alone ? settle_all() : result<void>();
}

// True if the request must wait until the outcome of an earlier one was looked at.
bool session::in_conflict(const running& earlier, const noted_request& r,
                          const std::vector<wire::operand>& operands) const {
  return std::ranges::any_of(earlier.operands, [&](const wire::operand& o) {
    const bool overwrites = std::ranges::any_of(r.contents, [&](const bytes_note& bytes) {
      return bytes.pool == wire::host_pool && overlap(bytes.offset, bytes.offset + bytes.bytes, o);
    });
    const bool rewrites =
        o.role != access::read && std::ranges::any_of(operands, [&](const wire::operand& mine) {
          return mine.pool == wire::host_pool && mine.role != access::read &&
                 overlap(mine.begin, mine.end, o);
        });
    return overwrites || rewrites;
  });
}

result<void> session::give_contents(const noted_request& r) {
  for (const bytes_note& one : r.contents) {
    auto bytes = file_.bytes(one);
    if (!bytes && options_.over_gaps) continue;
    if (!bytes) return std::move(bytes).error();
    auto there = memory_.bytes_at(one.pool, one.offset, one.bytes);
    if (!there) return unusable(r, errc::invalid_argument, there.error().message);
    if (one.pool == wire::host_pool) {
      std::memcpy(there->address(), bytes->data(), bytes->size());
    } else if (auto copied = device_->copy_in(dtype::u8, *bytes, *there).get_result(); !copied) {
      return copied;
    }
  }
  return {};
}

// Does what the program did with a mapped tensor, at its place in the order.
result<void> session::replay_mapping(const noted_request& r, footprint::decoded& one) {
  if (auto settled = settle_all(); !settled) return settled;
  if (auto given = give_contents(r); !given) return given;
  ++report_.requests;
  const any_tensor& read = static_cast<const lane::mapping*>(one.request.data())->read;
  if (read.null() || r.seen.empty() || !is_compared(r)) return {};
  const footprint::place place = memory_.place_of(read);
  const any_tensor::byte_range reach = read.reach();
  const auto bytes = static_cast<std::uint64_t>(reach.end - reach.begin);
  const std::uint64_t offset = place.offset + static_cast<std::uint64_t>(reach.begin);
  auto recorded = recorded_bytes(r, place.pool, offset, bytes);
  if (!recorded) return std::move(recorded).error();
  auto there = memory_.bytes_at(place.pool, offset, bytes);
  if (!there || !*recorded) return {};
  std::vector<std::byte> replayed(bytes);
  if (auto copied = device_->copy_out(*there, dtype::u8, replayed).get_result(); !copied) {
    return copied;
  }
  report_.elements += static_cast<std::uint64_t>(read.count());
  if (auto what = first_difference(read, **recorded, replayed, how_)) {
    note_difference(r, "a tensor that the program has mapped", "read", *std::move(what));
  }
  return {};
}

result<void> session::run_against(const noted_request& r, const request_type& type) {
  auto for_twin = memory_.decode(type, r.frame);
  auto for_device = memory_.decode(type, r.frame);
  auto to_compare = memory_.decode(type, r.frame);
  if (auto begun = twin_->begin(to_compare->operands, *device_, memory_); !begun) return begun;
  if (auto sent = send(r, type, *std::move(for_device)); !sent) return sent;
  auto failed = twin_->run(type, std::move(for_twin->request));
  if (!failed) return std::move(failed).error();
  const std::uint64_t differing = report_.differing;
  const bool has_failed = r.end && r.end->failed != 0;
  const std::string text = print(type, running_.back().request->data());
  if (auto settled = settle_all(); !settled) return settled;
  if (report_.differing != differing || has_failed || !is_compared(r)) return {};
  if (*failed) {
    note_difference(r, text, "outcome",
                    {.element = -1,
                     .recorded = outcome_text(true, (*failed)->code, (*failed)->message),
                     .replayed = "success"});
    return {};
  }
  auto found =
      twin_->compare(type, to_compare->request, *device_, memory_, twin_how_, report_.elements);
  if (!found) return std::move(found).error();
  if (*found) note_difference(r, text, (*found)->field, std::move((*found)->what));
  return {};
}

result<void> session::send(const noted_request& r, const request_type& type,
                           footprint::decoded&& one) {
  running sent{.noted = &r,
               .type = &type,
               .request = std::make_shared<any_request>(std::move(one.request)),
               .operands = std::move(one.operands),
               .outputs = {},
               .end = {}};
  for_each_tensor(type, sent.request->data(),
                  [&](std::string_view name, const any_tensor& t, access role) {
                    if (t.null() || role == access::read) return;
                    if (memory_.place_of(t).pool != wire::host_pool) return;
                    sent.outputs.emplace_back(std::string(name), t);
                  });
  if (auto moved = memory_.move(type, *sent.request); !moved) {
    return unusable(r, errc::invalid_argument, moved.error().message);
  }
  device_endpoint& core = *device_->core();
  promise<outcome> answer(&core.driver());
  sent.end = answer.get_future();
  request_options how;
  if (r.about.run_limit_ns > 0 && r.about.run_limit_ns != device_config{}.run_limit.count()) {
    how.run_limit = std::chrono::nanoseconds(r.about.run_limit_ns);
  }
  const std::uint8_t lane = r.about.lane < wire::max_lanes && r.about.lane != wire::world_lane
                                ? r.about.lane
                                : core.lane_for(type);
  auto placed =
      core.send(type, sent.request->data(), how,
                [answer = std::move(answer), &type](std::byte* reply, error* failure) mutable {
                  outcome made;
                  if (failure != nullptr) {
                    made.failure = std::move(*failure);
                  } else if (reply != nullptr && type.described_reply != nullptr) {
                    const any_value& value = *reinterpret_cast<any_value*>(reply);
                    made.reply = wire::encoded_reply(value);
                  } else if (reply != nullptr) {
                    made.reply.assign(reply, reply + type.reply_bytes);
                  }
                  answer.set_value(std::move(made));
                },
                {.lane = lane, .full = device_endpoint::if_full::wait});
  (void)placed;  // a refusal is its outcome
  ++report_.requests;
  running_.push_back(std::move(sent));
  return {};
}

}  // namespace troupe::journal
