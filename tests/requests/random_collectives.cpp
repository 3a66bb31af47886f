#include "random_collectives.hpp"

#include <troupe/collective.hpp>

#include <cstddef>
#include <vector>

namespace troupe::testing_requests {
namespace {

/// One request for several devices.
class drawn_collective {
 public:
  drawn_collective(std::mt19937_64& random, const view_source& views)
      : random_(random), views_(views), ranks_(1 + random() % 3), items_(1 + random() % 2) {}

  template <class R>
  void fill(R& r) {
    r = {};
    constexpr std::int64_t words = 8192;
    r.part.rank = static_cast<std::int64_t>(random_() % ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      r.part.words.push_back(views_(dtype::u8, {words}, {}, memory_space::host));
    r.part.page = views_(dtype::u8, {words}, {}, memory_space::host);
    std::size_t root = ranks_;  // none
    if constexpr (requires { r.root; }) {
      root = random_() % ranks_;
      r.root = static_cast<std::int64_t>(root);
    }
    if constexpr (requires { r.op; }) {
      r.op = random_() % 2 == 0 ? collective::reduction::min : collective::reduction::max;
    }
    if constexpr (requires { r.x; }) {
      if constexpr (requires { r.counts; }) items_ = 1;
      const auto n = static_cast<std::int64_t>(ranks_);
      const bool x_is_whole = is<R, collective::reduce_scatter, collective::scatter,
                                 collective::all_to_all, collective::all_to_allv>;
      const bool y_is_whole = is<R, collective::all_gather, collective::gather,
                                 collective::all_to_all, collective::all_to_allv>;
      for (std::size_t item = 0; item < items_; ++item) {
        const dtype type = real_type();
        const auto count = static_cast<std::int64_t>(random_() % 4);
        const shape part{count, 2};
        const shape whole{n, count, 2};
        constexpr bool only_x = is<R, collective::broadcast, collective::scatter>;
        constexpr bool only_y = is<R, collective::reduce, collective::gather>;
        constexpr bool is_copy = is<R, collective::exchange>;  // from any rank to any
        add(r.x, type, x_is_whole ? whole : part,
            is_copy  ? random_() % ranks_
            : only_x ? root
                     : ranks_);
        add(r.y, type, y_is_whole ? whole : part,
            is_copy  ? random_() % ranks_
            : only_y ? root
                     : ranks_);
        if constexpr (requires { r.counts; }) {
          r.counts.assign(ranks_ * ranks_, count == 0 ? 0 : 2 * count);
        }
      }
    }
  }

 private:
  template <class R, class... Others>
  static constexpr bool is = (std::is_same_v<R, Others> || ...);

  // Not complex: those have no minimum.
  dtype real_type() {
    for (;;) {
      const auto type = static_cast<dtype>(random_() % dtype_count);
      if (!is_complex(type)) return type;
    }
  }
  void add(std::vector<any_tensor>& to, dtype type, const shape& extents, std::size_t only) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const bool is_given = only == ranks_ || only == rank;
      to.push_back(is_given ? views_(type, extents, {}, memory_space::device) : any_tensor());
    }
  }

  std::mt19937_64& random_;
  const view_source& views_;
  std::size_t ranks_;
  std::size_t items_;
};

}  // namespace

bool draw_collective(const request_type& type, void* request, std::mt19937_64& random,
                     const view_source& views) {
  return drawn_by<drawn_collective, collective::all_reduce, collective::reduce,
                  collective::reduce_scatter, collective::broadcast, collective::all_gather,
                  collective::gather, collective::scatter, collective::all_to_all,
                  collective::all_to_allv, collective::exchange, collective::barrier,
                  collective::connect>(type, request, random, views);
}

}  // namespace troupe::testing_requests
