#pragma once

#include <troupe/device/device.hpp>
#include <troupe/device/request_graph.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace troupe {

struct repeat_options {
  /// The rounds after which `errc::numerical` ends the run. \errors `invalid_argument` unless
  /// positive
  std::int64_t at_most = 1'000'000;
};

/// Records requests instead of sending them. Each is checked when it is added, as `ask` would check
/// it; only whether its tensors are defined is checked at each run. The first failure is kept:
/// later calls do nothing, and `finish` returns it.
///
///     graph_recorder rec = gpu.record("step");
///     rec.add(blas::gemm{.a = x, .b = w, .c = h});
///     const auto norm = rec.add(blas::nrm2{.x = h});
///     const request_graph step = std::move(rec).finish().value();
///     std::cout << gpu.run(step).get()[norm];
///
/// For one thread, the one that made it; any may finish it.
class TROUPE_EXPORT graph_recorder {
 public:
  using body = std::function<void(graph_recorder&)>;

  /// As `device::record`.
  graph_recorder(const device& on, std::string_view name);
  graph_recorder(graph_recorder&& other) noexcept;
  graph_recorder& operator=(graph_recorder&& other) noexcept;
  ~graph_recorder();

  /// Adds a request. \errors those of sending it, but for `tainted_buffer`; `unsupported` for one
  /// that cannot be in a graph; `size_overflow` beyond 65 536 requests
  template <request R>
  reply_in_graph<reply_of<R>> add(const R& r) {
    return {.request = add(request_type_of<R>(), &r), .type = &request_type_of<R>()};
  }
  /// The same for a request whose type is known at run time only. \returns its number
  std::uint64_t add(const any_request& r) { return add(r.type(), r.data()); }
  /// Adds the requests of another graph, with other tensors for some of its parameters. Their
  /// replies are dropped. \errors as `device::run`
  void add(const request_graph& child, const std::vector<graph_argument>& arguments = {});

  /// Runs the body while the condition is not zero: a tensor of one element of type bool, u8, i32,
  /// u32 or i64, which is read before each round. \errors `type_mismatch`, `shape_mismatch`; beyond
  /// a depth of 8, `invalid_argument`
  void repeat_while(const any_tensor& condition, const repeat_options& options, const body& of);
  void repeat_while(const any_tensor& condition, const body& of) {
    repeat_while(condition, {}, of);
  }
  /// Runs the first body if the condition is not zero, else the second, if it is given.
  void run_if(const any_tensor& condition, const body& then, const body& otherwise = {});
  /// Runs the body with the number in `index`; none if there is no such body.
  void choose(const any_tensor& index, const std::vector<body>& bodies);

  /// The same in steps, for other languages: a `begin`, any number of requests, `next_body` before
  /// the second and later bodies, `end`.
  void begin_repeat(const any_tensor& condition, const repeat_options& options = {});
  void begin_if(const any_tensor& condition);
  void begin_choose(const any_tensor& index);
  void next_body();
  void end();

  /// Says that a request overwrites these parts of the tensor in a field that it writes, and reads
  /// nothing of that tensor: the program knows it from data on the device, such as the indices of
  /// `elementwise::scatter_rows`. Then the rest of the tensor is not written for other requests,
  /// and the parts may be parameters; a GPU records the request once for all of their places.
  /// Bytes that the request writes elsewhere are not ordered, nor undefined after a fault.
  /// \errors `invalid_argument` for a request or a field that is not there, or is only read;
  /// `aliasing` for a part outside the tensor
  template <class Reply>
  void writes_only(const reply_in_graph<Reply>& of, std::string_view field,
                   const std::vector<any_tensor>& parts) {
    writes_only(of.request, field, parts);
  }
  void writes_only(std::uint64_t request, std::string_view field,
                   const std::vector<any_tensor>& parts);

  /// Lets each run name another tensor instead of `t` and of all views within it. \errors
  /// `invalid_argument` for a name that is taken, and for a tensor that no request uses; `aliasing`
  /// for one that a request uses only in part, and for one that overlaps another parameter
  void parameter(std::string_view name, const any_tensor& t);
  /// The same for a part of `within`, which requests use as a whole, too, such as the rows of new
  /// tokens in pages of keys: each run names another part of it, of any alignment. Views that reach
  /// beyond `t` stay where they are. `within` may be a parameter, or a part of one; if a run names
  /// another tensor for it, the part must lie in that one. \errors also `aliasing` for a tensor
  /// that is not within
  void parameter(std::string_view name, const any_tensor& t, const any_tensor& within);
  /// Lets each run choose the value of a field: `rec.parameter("rate", step, "alpha")`. \errors
  /// `invalid_argument` also for a request of another graph, and for a field that is no number
  template <class Reply>
  void parameter(std::string_view name, const reply_in_graph<Reply>& of, std::string_view field) {
    parameter(name, of.request, field);
  }
  void parameter(std::string_view name, std::uint64_t request, std::string_view field);

  /// The first failure; null if there is none.
  [[nodiscard]] const error* failure() const noexcept;
  /// Ends the recording. \errors the first failure; `invalid_argument` for a graph without
  /// requests; `out_of_memory`
  [[nodiscard]] result<request_graph> finish() &&;

 private:
  class recording;

  std::uint64_t add(const request_type& type, const void* request);

  std::unique_ptr<recording> recording_;
};

}  // namespace troupe
