#include "device/local/fault_keeper.hpp"

#include "device/journal/request_notes.hpp"
#include "os/private_folder.hpp"
#include "os/thread.hpp"

#include <troupe/memory/copy.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>

namespace troupe {
namespace {

constexpr std::string_view extension = ".journal";
// Copied while the role is held.
constexpr std::uint64_t most_at_once = std::uint64_t{64} << 10;

// Faults that wait for the disk, with their data.
constexpr std::size_t most_waiting = 32;

journal::bytes_note about(const kept_operand& o, std::uint64_t ticket) {
  return {.ticket = ticket,
          .offset = o.buffer->offset + o.where.begin,
          .bytes = o.where.end - o.where.begin,
          .pool = wire::own_pool(o.buffer->space)};
}

any_tensor bytes_of(const kept_operand& o) {
  const auto whole =
      any_tensor::owned(o.buffer, dtype::u8, {static_cast<std::int64_t>(o.buffer->bytes)});
  return whole
      .slice(0, static_cast<std::int64_t>(o.where.begin), static_cast<std::int64_t>(o.where.end))
      .value();
}

}  // namespace

// Those that wait are written first.
fault_keeper::~fault_keeper() {
  std::jthread ending;
  {
    const std::lock_guard lock(mutex_);
    ending.swap(writer_);
  }
}

void fault_keeper::keep(std::uint16_t slot, const error& why) noexcept {
  try {
    const record& r = device_.completions().at(slot);
    auto f = std::make_shared<fault>();
    f->type = r.type;
    f->why = why;
    f->about = {.ticket = r.ticket,
                .type = r.type->id,
                .run_limit_ns = r.run_limit_ns,
                .lane = r.lane,
                .flags = static_cast<std::uint8_t>(
                    (r.lane == wire::world_lane ? journal::send_note::is_part : 0) |
                    (r.operands.sets().empty() ? 0 : journal::send_note::is_bound))};
    const auto frame = device_.requests_->sent_bytes(slot);
    f->frame.assign(frame.begin(), frame.end());
    capture(f, r);
    end_one(f);
  } catch (const std::bad_alloc&) {
    return;
  } catch (const std::system_error&) {
    return;  // no more threads
  }
}

// The smallest operands first, so that most of them are there.
void fault_keeper::capture(const std::shared_ptr<fault>& f, const record& r) {
  std::vector<const kept_operand*> read;
  r.operands.for_each([&](const kept_operand& o) {
    if (o.where.begin == o.where.end) return;
    if (o.role == access::read) read.push_back(&o);
    if (o.role == access::update) {
      f->remarks.push_back(
          fmt::format("{} bytes that it updated are lost", o.where.end - o.where.begin));
    }
  });
  std::ranges::sort(read, {}, [](const kept_operand* o) { return o->where.end - o->where.begin; });
  std::uint64_t left = device_.config().fault_journal.most_bytes;
  for (const kept_operand* const o : read) {
    const std::uint64_t bytes = o->where.end - o->where.begin;
    if (bytes > left) {
      f->remarks.push_back(
          fmt::format("{} bytes that it read are left out: fault_journal keeps "
                      "at most {}",
                      bytes, device_.config().fault_journal.most_bytes));
      break;
    }
    left -= bytes;
    copy(f, *o, overwritten_by(*o, r.ticket));
  }
}

// Names a request in flight that was sent after another one and writes what that one read.
std::string fault_keeper::overwritten_by(const kept_operand& o, std::uint64_t after) {
  reactor& all = device_.completions();
  const role held(all);
  for (const std::uint16_t slot : all.in_flight(held)) {
    const record& r = all.at(slot);
    bool writes = false;
    r.operands.for_each([&](const kept_operand& other) {
      writes = writes || (other.role != access::read && other.buffer.get() == o.buffer.get() &&
                          other.where.begin < o.where.end && o.where.begin < other.where.end);
    });
    if (writes && r.ticket > after) return fmt::format("{} #{}", r.type->name, r.ticket);
  }
  return {};
}

void fault_keeper::copy(const std::shared_ptr<fault>& f, const kept_operand& o,
                        std::string_view overwriting) {
  operand one{.about = about(o, f->about.ticket)};
  if (!overwriting.empty()) {
    f->remarks.push_back(
        fmt::format("{} bytes that it read were overwritten by {}", one.about.bytes, overwriting));
    return;
  }
  auto memory = device_.allocate(memory_space::host, one.about.bytes);
  if (!memory) {
    f->remarks.push_back(memory.error().message);
    return;
  }
  one.copy = any_tensor::owned(*std::move(memory), dtype::u8,
                               {static_cast<std::int64_t>(one.about.bytes)});
  const bool is_host = o.buffer->owner == &device_.host_memory();
  if (is_host && one.about.bytes <= most_at_once) {
    std::memcpy(one.copy.address(), device_.host_memory().base() + one.about.offset,
                one.about.bytes);
    f->operands.push_back(std::move(one));
    return;
  }
  f->left.fetch_add(1);
  const memory::copy request{.from = bytes_of(o), .to = one.copy};
  (void)device_.send(request_type_of<memory::copy>(), &request, {.quarantine = false},
                     [this, f, one = std::move(one)](const std::byte*, error* failure) mutable {
                       {
                         const std::lock_guard lock(f->mutex);
                         if (failure == nullptr) {
                           f->operands.push_back(std::move(one));
                         } else {
                           f->remarks.push_back(failure->message);
                         }
                       }
                       end_one(f);
                     },
                     {.lane = device_.lane_for(request_type_of<memory::copy>()),
                      .full = device_endpoint::if_full::refuse});
}

void fault_keeper::end_one(const std::shared_ptr<fault>& f) noexcept {
  if (f->left.fetch_sub(1) != 1) return;
  try {
    const std::lock_guard lock(mutex_);
    if (ended_.size() == most_waiting) return;
    if (!writer_.joinable()) {
      writer_ =
          os::start_thread<std::jthread>([this](const std::stop_token& end) { write_all(end); });
    }
    ended_.push_back(f);
  } catch (const std::system_error&) {
    return;  // no more threads
  } catch (const std::bad_alloc&) {
    return;
  }
  has_fault_.notify_one();
}

void fault_keeper::write_all(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (has_fault_.wait(lock, end, [this] { return !ended_.empty(); })) {
    const std::shared_ptr<fault> one = std::move(ended_.front());
    ended_.pop_front();
    lock.unlock();
    try {
      write(*one);
    } catch (const std::bad_alloc&) {
      // It is not kept.
    }
    lock.lock();
  }
}

void fault_keeper::write(fault& f) const {
  const auto& how = device_.config().fault_journal;
  if (!make_room(how.folder)) return;
  const std::string path = fmt::format("{}/{:%Y%m%d-%H%M%S}-{}-device{}-request{}{}", how.folder,
                                       fmt::gmtime(std::time(nullptr)), ::getpid(),
                                       device_.ordinal(), f.about.ticket, extension);
  // Its own thread may wait.
  auto file = journal::journal_writer::open(path, {.behind = journal_options::when_behind::wait});
  if (!file) return;
  const std::string build =
      journal::build_text(device_.description(), device_.memory(), device_.host_memory(),
                          device_.config().fault_injection) +
      "excerpt 1\n";
  const auto device = static_cast<std::uint16_t>(device_.ordinal());
  journal::note_chunk notes;
  notes.add(journal::note::build, device, {journal::bytes_of_text(build)});
  const auto length = static_cast<std::uint32_t>(f.type->name.size());
  notes.add(journal::note::type, device,
            {journal::bytes_of(f.type->id), journal::bytes_of(length),
             journal::bytes_of_text(f.type->name)});
  notes.add(journal::note::send, device, {journal::bytes_of(f.about), f.frame});
  const journal::end_note end{
      .ticket = f.about.ticket, .failed = 1, .code = static_cast<std::uint8_t>(f.why.code)};
  notes.add(journal::note::end, device,
            {journal::bytes_of(end), journal::bytes_of_text(f.why.message)});
  for (const std::string& remark : f.remarks)
    notes.add(journal::note::event, device, {journal::bytes_of_text(remark)});
  (*file)->add(notes);
  for (const operand& one : f.operands) {
    std::vector<journal::block> blocks;
    journal::add_blocks(blocks, device, journal::note::content, one.about, one.copy.address());
    for (journal::block& block : blocks)
      (void)(*file)->add(std::move(block));
  }
}

// Removes the oldest files: their names begin with the time.
bool fault_keeper::make_room(const std::string& folder) const {
  const auto opened = os::private_folder::open(folder);
  if (!opened) return false;
  std::vector<std::string> names = opened->names();
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(extension); });
  std::ranges::sort(names);
  const auto most = static_cast<std::size_t>(
      std::max<std::uint32_t>(device_.config().fault_journal.most_files, 1));
  for (std::size_t i = 0; i + most <= names.size(); ++i)
    opened->remove(names[i]);
  return true;
}

}  // namespace troupe
