#include "recorded_check.hpp"

#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/request/fields.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

namespace troupe::conformance {
namespace {

// Larger cases are about sizes, and would take as much memory again.
constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

/// By operation: why it was not recorded; empty once it was.
std::map<std::string, std::string>& recorded() {
  static std::map<std::string, std::string> all;
  return all;
}
/// By operation: how often the driver or its library refused to record it, for good.
std::map<std::string, int>& refused() {
  static std::map<std::string, int> all;
  return all;
}
std::set<std::string>& varying() {
  static std::set<std::string> all;
  return all;
}

}  // namespace

void recorded_check::save() {
  saved_.clear();
  std::int64_t bytes = 0;
  for (const any_tensor& t : memory_)
    bytes += t.count() * size_of(t.type());
  if (bytes > most_bytes) return;
  for (const any_tensor& t : memory_) {
    saved_.push_back(device_.allocate(t.type(), shape(t.extents())).value());
    (void)device_.tell(memory::copy{.from = t, .to = saved_.back()});
  }
}

void recorded_check::restore() {
  for (std::size_t i = 0; i < saved_.size(); ++i)
    (void)device_.tell(memory::copy{.from = saved_[i], .to = memory_[i]});
}

recorded_check::contents recorded_check::all() {
  contents made;
  std::vector<any_tensor> staged;
  std::vector<future<void>> copies;
  for (const any_tensor& t : memory_) {
    staged.push_back(device_.allocate_host(t.type(), shape(t.extents())).value());
    copies.push_back(device_.ask(memory::copy{.from = t, .to = staged.back()}));
  }
  for (std::size_t i = 0; i < staged.size(); ++i) {
    auto copied = copies[i].get_result();
    if (!copied) {
      // An earlier request of the test has failed, and has left it undefined.
      EXPECT_EQ(copied.error().code, errc::tainted_buffer) << copied.error().to_string();
      made.emplace_back();
      continue;
    }
    const auto size = static_cast<std::size_t>(staged[i].count() * size_of(staged[i].type()));
    made.emplace_back(staged[i].address(), staged[i].address() + size);
  }
  return made;
}

void recorded_check::run(const any_request& request, const library_actor& actor,
                         std::span<const std::byte> reply) {
  const request_type& type = request.type();
  if (saved_.size() != memory_.size()) return;  // too large
  const bool on_gpu = device_.description().architecture.starts_with("sm_");
  if (scratch_.null()) scratch_ = device_.tensor<float>({8}).value();
  graph_recorder rec = device_.record(type.name);
  // Two in a row are recorded.
  rec.add(memory::fill{.to = scratch_, .value = 1});
  const std::uint64_t number = rec.add(request);
  auto graph = std::move(rec).finish();
  if (!graph) {
    recorded().emplace(type.name, graph.error().message);
    EXPECT_EQ(graph.error().code, errc::unsupported) << graph.error().to_string();
    return;
  }
  if (!is_within_memory(request)) return;
  const contents expected = all();
  bool differs = false;
  contents found;
  bool varies = false;
  // A recording that was refused is tried again.
  const auto goes_on = [&](int times) {
    if (!on_gpu) return times < 1;
    return times < 3 || (times < 6 && graph->info(device_).get().launches == 0);
  };
  for (int times = 0; goes_on(times); ++times) {
    restore();
    auto done = device_.run(*graph).get_result();
    if (!done) {
      const error why = std::move(done).error();
      // A reply that the device makes late, or one that is too long, is refused by the worker.
      EXPECT_TRUE(why.code == errc::unsupported || why.code == errc::size_overflow)
          << "in a graph: " << why.to_string();
      recorded().emplace(type.name, why.message);
      restore();
      EXPECT_TRUE(actor.ask(request).get_result());
      return;
    }
    if (!reply.empty()) {
      auto of_run = done->find(number, &type);
      ASSERT_TRUE(of_run) << of_run.error().to_string();
      differs = differs || std::memcmp(of_run->data(), reply.data(), type.reply_bytes) != 0;
    }
    contents now = all();
    varies = varies || (!found.empty() && now != found);
    differs = differs || now != expected;
    found = std::move(now);
  }
  const bool is_recorded = note(type, *graph, on_gpu);
  if (differs) blame(request, actor, expected, varies, is_recorded || !on_gpu);
}

void recorded_check::blame(const any_request& request, const library_actor& actor,
                           const contents& expected, bool varies, bool is_to_blame) {
  // Some requests give other bits each time, by themselves, too. Others are called in the graph.
  for (int times = 0; times < 64 && is_to_blame && !varies; ++times) {
    restore();
    ASSERT_TRUE(actor.ask(request).get_result());
    varies = all() != expected;
  }
  if (varies || !is_to_blame) {
    varying().insert(std::string(request.type().name));
    return;
  }
  ADD_FAILURE() << request.type().name << " gives other bits in a graph";
}

// Only then is its content restored before it runs again.
bool recorded_check::is_within_memory(const any_request& request) const {
  bool within = true;
  // The visitor changes nothing. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  void* const same = const_cast<void*>(request.data());
  for_each_tensor(request.type(), same, [&](std::string_view, any_tensor& t, access role) {
    if (role == access::read || t.null() || t.empty()) return;
    const std::byte* const first = t.address() + t.reach().begin;
    const std::byte* const end = t.address() + t.reach().end;
    within = within && std::ranges::any_of(memory_, [&](const any_tensor& one) {
               return first >= one.address() && end <= one.address() + one.reach().end;
             });
  });
  return within;
}

// A capture that the driver or a library refuses is no failure: the request is called. A request
// that enqueues what cannot be launched again is on its list by mistake.
bool recorded_check::note(const request_type& type, const request_graph& graph, bool on_gpu) {
  std::string why;
  const graph::graph_info how = graph.info(device_).get();
  for (const graph::segment& one : how.segments) {
    if (!one.is_recorded && one.why != "it is alone") why = one.why;
  }
  if (how.segments.empty()) why = how.why;
  const bool is_recorded = on_gpu && how.launches > 0;
  if (on_gpu && why.empty() && !is_recorded) why = "not recorded within six runs";
  for (const char* const wrong : {"copies memory of its call", "calls a function of the host",
                                  "allocates memory", "enqueues a node"})
    EXPECT_EQ(why.find(wrong), std::string::npos)
        << type.name << " is on its library's list: " << why;
  if (why.starts_with("recording it failed")) ++refused()[std::string(type.name)];
  std::string& known = recorded().emplace(type.name, why).first->second;
  if (is_recorded) known.clear();
  return is_recorded;
}

void recorded_check::print_summary() {
  std::size_t count = 0;
  for (const auto& [name, why] : recorded())
    if (why.empty()) ++count;
  std::printf("%zu of %zu operations were recorded\n", count, recorded().size());
  for (const auto& [name, why] : recorded())
    if (!why.empty()) std::printf("  %s: %s\n", name.c_str(), why.c_str());
  for (const auto& [name, times] : refused())
    std::printf("  %s: %d recordings were refused\n", name.c_str(), times);
  for (const std::string& name : varying())
    std::printf("  %s: other bits each time, by itself, too\n", name.c_str());
}

}  // namespace troupe::conformance
