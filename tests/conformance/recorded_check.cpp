#include "recorded_check.hpp"

#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

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
    EXPECT_TRUE(copied) << copied.error().to_string();
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
  const contents expected = all();
  bool differs = false;
  for (int times = 0; times < (on_gpu ? 3 : 1); ++times) {
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
    differs = differs || all() != expected;
  }
  note(type, *graph, on_gpu);
  if (!differs) return;
  // Some requests give other bits each time, by themselves, too.
  for (int times = 0; times < 8; ++times) {
    restore();
    ASSERT_TRUE(actor.ask(request).get_result());
    if (all() == expected) continue;
    varying().insert(std::string(type.name));
    return;
  }
  ADD_FAILURE() << type.name << " gives other bits in a graph";
}

void recorded_check::note(const request_type& type, const request_graph& graph, bool on_gpu) {
  std::string why;
  const graph::graph_info how = graph.info(device_).get();
  for (const graph::segment& one : how.segments) {
    if (!one.is_recorded && one.why != "it is alone") why = one.why;
  }
  if (how.segments.empty()) why = how.why;
  if (on_gpu && why.empty() && how.recordings == 0) why = "not recorded within three runs";
  EXPECT_FALSE(why.starts_with("recording it failed"))
      << type.name << " is on its library's list: " << why;
  std::string& known = recorded().emplace(type.name, why).first->second;
  if (why.empty()) known.clear();
}

void recorded_check::print_summary() {
  std::size_t count = 0;
  for (const auto& [name, why] : recorded())
    if (why.empty()) ++count;
  std::printf("%zu of %zu operations were recorded\n", count, recorded().size());
  for (const auto& [name, why] : recorded())
    if (!why.empty()) std::printf("  %s: %s\n", name.c_str(), why.c_str());
  for (const std::string& name : varying())
    std::printf("  %s: other bits each time, by itself, too\n", name.c_str());
}

}  // namespace troupe::conformance
