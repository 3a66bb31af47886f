#include <troupe/collective/distribution.hpp>
#include <troupe/parallel/weights.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe::parallel {

result<replicated> replicate(const world& all, std::span<const any_tensor> tensors,
                             std::size_t root, placement where) {
  if (root >= all.size()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("replicate: the world has {} ranks; there is no rank {}",
                                        all.size(), root)};
  }
  replicated made;
  made.on.resize(all.size());
  collective::broadcast request{.root = static_cast<std::int64_t>(root)};
  for (const any_tensor& one : tensors) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      any_tensor copy = one;
      if (rank != root) {
        auto allocated =
            all.rank(rank).allocate(one.type(), shape(one.extents()), initial::undefined, where);
        if (!allocated) return std::move(allocated).error();
        copy = *std::move(allocated);
      }
      request.x.push_back(rank == root ? one : any_tensor());
      request.y.push_back(copy);
      made.on[rank].push_back(std::move(copy));
    }
  }
  made.done = tensors.empty() ? make_ready_future() : all.ask(std::move(request));
  return made;
}

}  // namespace troupe::parallel
