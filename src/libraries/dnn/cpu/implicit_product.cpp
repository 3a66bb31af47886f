#include "libraries/dnn/cpu/implicit_product.hpp"

#include "libraries/dnn/cpu/elements.hpp"
#include "libraries/dnn/cpu/product_kernels.hpp"
#include "libraries/dnn/cpu/result_rows.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace troupe::cpu {
namespace {

// A block of a task: rows · columns of sums, for which blocks of this depth are packed in turn. The
// order of an element's sum depends on the depth of blocks alone, so its bits do not depend on how
// the work is shared out.
constexpr std::int64_t block_rows = 192;  // a multiple of every kernel's
constexpr std::int64_t block_columns = 512;
constexpr std::int64_t block_depth = 256;
// The least work for a thread, in products.
constexpr std::int64_t products_per_thread = std::int64_t{1} << 20;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

/// The memory of one thread.
template <class Sum>
struct thread_workspace {
  Sum* a = nullptr;
  Sum* b = nullptr;
  Sum* sums = nullptr;
  typename result_rows<Sum>::real* row = nullptr;
  point* rows = nullptr;
  point* depth = nullptr;
  point* columns = nullptr;
  point* z_columns = nullptr;
  point* z_rows = nullptr;

  static constexpr std::int64_t bytes =
      round_up((block_rows * block_depth + block_depth * block_columns +
                block_rows * block_columns + block_columns) *
                       static_cast<std::int64_t>(sizeof(Sum)) +
                   (2 * block_rows + block_depth + 2 * block_columns) *
                       static_cast<std::int64_t>(sizeof(point)),
               64);

  explicit thread_workspace(std::byte* at) noexcept {
    const auto take = [&]<class T>(T*& to, std::int64_t count) {
      to = reinterpret_cast<T*>(at);
      at += count * static_cast<std::int64_t>(sizeof(T));
    };
    take(a, block_rows * block_depth);
    take(b, block_depth * block_columns);
    take(sums, block_rows * block_columns);
    take(row, block_columns);
    take(rows, block_rows);
    take(z_rows, block_rows);
    take(depth, block_depth);
    take(columns, block_columns);
    take(z_columns, block_columns);
  }
};

/// Panels of `width` rows of a, each with its numbers side by side for every step of the depth.
template <class T, class Sum>
void pack_a(const T* a, std::span<const point> rows, std::span<const point> depth,
            std::int64_t width, Sum* to) {
  const auto count = static_cast<std::int64_t>(rows.size());
  for (std::int64_t first = 0; first < count; first += width) {
    const std::int64_t n = std::min(width, count - first);
    const point* const panel = rows.data() + first;
    for (const point& d : depth) {
      const T* const from = a + d.offset;
      for (std::int64_t r = 0; r < n; ++r)
        to[r] = widened<Sum>(from[panel[r].offset]);
      std::fill(to + n, to + width, Sum{});
      to += width;
    }
  }
}

/// The same of columns of b, with zeros for what lies in the padding.
template <class T, class Sum>
class column_packer {
 public:
  column_packer(const T* b, const dnn::space_numbers& bounds) noexcept : b_(b), bounds_(bounds) {}

  void pack(std::span<const point> columns, std::span<const point> depth, std::int64_t width,
            Sum* to) const {
    const auto count = static_cast<std::int64_t>(columns.size());
    for (std::int64_t first = 0; first < count; first += width) {
      const std::int64_t n = std::min(width, count - first);
      panel(columns.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n)), depth,
            width, to);
      to += width * static_cast<std::int64_t>(depth.size());
    }
  }

 private:
  void panel(std::span<const point> columns, std::span<const point> depth, std::int64_t width,
             Sum* to) const {
    const auto n = static_cast<std::int64_t>(columns.size());
    dnn::space_numbers least = columns[0].place;
    dnn::space_numbers most = columns[0].place;
    bool is_run = true;
    for (std::int64_t j = 0; j < n; ++j) {
      const point& c = columns[static_cast<std::size_t>(j)];
      is_run = is_run && c.offset == columns[0].offset + j;
      for (std::size_t s = 0; s < least.size(); ++s) {
        least[s] = std::min(least[s], c.place[s]);
        most[s] = std::max(most[s], c.place[s]);
      }
    }
    for (const point& d : depth) {
      bool inside = true;
      for (std::size_t s = 0; s < least.size(); ++s)
        inside = inside && least[s] + d.place[s] >= 0 && most[s] + d.place[s] < bounds_[s];
      const T* const from = b_ + d.offset;
      if (!inside) {
        for (std::int64_t j = 0; j < n; ++j) {
          const point& c = columns[static_cast<std::size_t>(j)];
          to[j] = lies_inside(c, d) ? widened<Sum>(from[c.offset]) : Sum{};
        }
      } else if (is_run) {
        const T* const run = from + columns[0].offset;
        for (std::int64_t j = 0; j < n; ++j)
          to[j] = widened<Sum>(run[j]);
      } else {
        for (std::int64_t j = 0; j < n; ++j)
          to[j] = widened<Sum>(from[columns[static_cast<std::size_t>(j)].offset]);
      }
      std::fill(to + n, to + width, Sum{});
      to += width;
    }
  }
  [[nodiscard]] bool lies_inside(const point& c, const point& d) const noexcept {
    bool inside = true;
    for (std::size_t s = 0; s < bounds_.size(); ++s) {
      // One comparison for both bounds.
      inside &= static_cast<std::uint64_t>(c.place[s] + d.place[s]) <
                static_cast<std::uint64_t>(bounds_[s]);
    }
    return inside;
  }

  const T* b_;
  const dnn::space_numbers& bounds_;
};

template <class T>
class product_run {
 public:
  using sum = typename sums_of<T>::type;

  product_run(const implicit_product& p, const epilogue& after) noexcept
      : p_(p),
        kernel_(product_kernels::mine().of<sum>()),
        finish_(after, p.result_type),
        z_(after.z.null() ? nullptr : after.z.address()),
        rows_(p.c_rows.count()),
        columns_(p.c_columns.count()),
        depth_(p.b_depth.count()) {}

  result<void> run(lane_context& lane) {
    const std::int64_t work = p_.groups * rows_ * columns_ * std::max<std::int64_t>(depth_, 1);
    std::int64_t threads =
        threads_for(std::numeric_limits<std::int64_t>::max(), work, products_per_thread);
    // Several tasks for each thread, but no smaller ones than a kernel likes.
    task_columns_ = block_columns;
    task_rows_ = block_rows;
    while (threads > 1 && tasks() < 4 * threads &&
           (task_columns_ > 2 * kernel_.columns || task_rows_ > 2 * kernel_.rows)) {
      if (task_columns_ >= task_rows_ && task_columns_ > 2 * kernel_.columns) {
        task_columns_ /= 2;
      } else {
        task_rows_ = std::max(2 * kernel_.rows, task_rows_ / 2 / kernel_.rows * kernel_.rows);
      }
    }
    threads = std::min(threads, tasks());
    auto workspace =
        lane.workspace(static_cast<std::size_t>(threads * thread_workspace<sum>::bytes));
    if (!workspace) return std::move(workspace).error();
    share_out(threads, tasks(), [&](std::int64_t thread, std::int64_t t) {
      task(thread_workspace<sum>(workspace->data() + thread * thread_workspace<sum>::bytes), t);
    });
    return {};
  }

 private:
  [[nodiscard]] std::int64_t row_blocks() const noexcept {
    return (rows_ + task_rows_ - 1) / task_rows_;
  }
  [[nodiscard]] std::int64_t column_blocks() const noexcept {
    return (columns_ + task_columns_ - 1) / task_columns_;
  }
  [[nodiscard]] std::int64_t tasks() const noexcept {
    return p_.groups * row_blocks() * column_blocks();
  }

  void task(const thread_workspace<sum>& workspace, std::int64_t t) const {
    const std::int64_t group = t / (row_blocks() * column_blocks());
    const std::int64_t first_row = t / column_blocks() % row_blocks() * task_rows_;
    const std::int64_t first_column = t % column_blocks() * task_columns_;
    const std::int64_t rows = std::min(task_rows_, rows_ - first_row);
    const std::int64_t columns = std::min(task_columns_, columns_ - first_column);
    const std::int64_t stride = round_up(columns, kernel_.columns);
    std::fill_n(workspace.sums, round_up(rows, kernel_.rows) * stride, sum{});

    const T* const a = reinterpret_cast<const T*>(p_.a) + group * p_.a_group;
    const column_packer<T, sum> b(reinterpret_cast<const T*>(p_.b) + group * p_.b_group, p_.bounds);
    p_.a_rows.points(first_row, rows, workspace.rows);
    p_.b_columns.points(first_column, columns, workspace.columns);
    for (std::int64_t from = 0; from < depth_; from += block_depth) {
      const std::int64_t depth = std::min(block_depth, depth_ - from);
      p_.a_depth.points(from, depth, workspace.depth);
      pack_a(a, {workspace.rows, static_cast<std::size_t>(rows)},
             {workspace.depth, static_cast<std::size_t>(depth)}, kernel_.rows, workspace.a);
      p_.b_depth.points(from, depth, workspace.depth);
      b.pack({workspace.columns, static_cast<std::size_t>(columns)},
             {workspace.depth, static_cast<std::size_t>(depth)}, kernel_.columns, workspace.b);
      for (std::int64_t j = 0; j < columns; j += kernel_.columns) {
        for (std::int64_t i = 0; i < rows; i += kernel_.rows)
          kernel_.add(workspace.a + i * depth, workspace.b + j * depth, depth,
                      workspace.sums + i * stride + j, stride);
      }
    }
    store(workspace, group, first_row, rows, first_column, columns, stride);
  }

  void store(const thread_workspace<sum>& workspace, std::int64_t group, std::int64_t first_row,
             std::int64_t rows, std::int64_t first_column, std::int64_t columns,
             std::int64_t stride) const {
    const std::int64_t size = size_of(p_.result_type);
    p_.c_rows.points(first_row, rows, workspace.rows);
    p_.c_columns.points(first_column, columns, workspace.columns);
    if (z_ != nullptr) {
      p_.z_rows.points(first_row, rows, workspace.z_rows);
      p_.z_columns.points(first_column, columns, workspace.z_columns);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::byte* const z =
          z_ == nullptr ? nullptr : z_ + (group * p_.z_group + workspace.z_rows[i].offset) * size;
      finish_.store(workspace.sums + i * stride, workspace.row, columns,
                    group * rows_ + first_row + i,
                    p_.c + (group * p_.c_group + workspace.rows[i].offset) * size,
                    workspace.columns, z, workspace.z_columns);
    }
  }

  const implicit_product& p_;
  const product_kernel<sum>& kernel_;
  result_rows<sum> finish_;
  const std::byte* z_;
  std::int64_t rows_, columns_, depth_;
  std::int64_t task_rows_ = block_rows;
  std::int64_t task_columns_ = block_columns;
};

}  // namespace

std::int64_t axes::count() const noexcept {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < used_; ++i)
    n *= all_[i].extent;
  return n;
}

void axes::points(std::int64_t first, std::int64_t n, point* to) const noexcept {
  std::array<std::int64_t, most> index{};
  point at = first_;
  const auto step = [&](std::size_t i, std::int64_t steps) {
    at.offset += steps * all_[i].step;
    if (all_[i].space >= 0)
      at.place[static_cast<std::size_t>(all_[i].space)] += steps * all_[i].places;
  };
  for (std::size_t i = used_; i-- > 0;) {
    index[i] = first % all_[i].extent;
    first /= all_[i].extent;
    step(i, index[i]);
  }
  for (std::int64_t made = 0; made < n; ++made) {
    to[made] = at;
    for (std::size_t i = used_; i-- > 0;) {
      step(i, 1);
      if (++index[i] < all_[i].extent) break;
      step(i, -index[i]);
      index[i] = 0;
    }
  }
}

result<void> implicit_product::run(const epilogue& after, lane_context& lane) const {
  switch (type) {
    case dtype::f64:
      return product_run<double>(*this, after).run(lane);
    case dtype::f32:
      return product_run<float>(*this, after).run(lane);
    case dtype::f16:
      return product_run<f16>(*this, after).run(lane);
    case dtype::bf16:
      return product_run<bf16>(*this, after).run(lane);
    case dtype::e4m3:
      return product_run<e4m3>(*this, after).run(lane);
    case dtype::i8:
      return product_run<std::int8_t>(*this, after).run(lane);
    default:
      return {};  // every other type is refused
  }
}

}  // namespace troupe::cpu
