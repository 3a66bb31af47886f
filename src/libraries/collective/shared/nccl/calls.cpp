#include "libraries/collective/shared/nccl/calls.hpp"

#include <troupe/tensor/dtype.hpp>

namespace troupe::collective::nccl {
namespace {

// The type of a reduction. Complex elements are two real ones.
int type_of(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return f64;
    case dtype::f32:
    case dtype::c64:
      return f32;
    case dtype::f16:
      return f16;
    case dtype::bf16:
      return bf16;
    case dtype::e4m3:
      return e4m3;
    case dtype::e5m2:
      return e5m2;
    case dtype::i8:
      return i8;
    case dtype::i32:
      return i32;
    case dtype::u32:
      return u32;
    case dtype::i64:
      return i64;
    case dtype::u64:
      return u64;
    case dtype::u8:
    case dtype::i16:
    case dtype::u16:
    case dtype::boolean:
      break;
  }
  return u8;
}

std::size_t elements(const any_tensor& t) noexcept {
  return static_cast<std::size_t>(t.count()) * (is_complex(t.type()) ? 2 : 1);
}
std::size_t bytes_of(const any_tensor& t) noexcept {
  return static_cast<std::size_t>(t.count() * size_of(t.type()));
}

int plain(reduction op) noexcept {
  switch (op) {
    case reduction::sum:
      return sum;
    case reduction::prod:
      return prod;
    case reduction::min:
      return min;
    case reduction::max:
      return max;
    case reduction::avg:
      return avg;
  }
  return sum;
}

/// Visits items: the place of the tensor of rank 0, and of this rank's.
template <class Visit>
void for_each(const std::vector<any_tensor>& of, const world_part& part, Visit visit) {
  const auto ranks = static_cast<std::size_t>(part.ranks());
  for (std::size_t first = 0; first < of.size(); first += ranks)
    visit(first, first + static_cast<std::size_t>(part.rank));
}

}  // namespace

// A factor makes an operation of its own.
template <class R>
int calls::operation_of(const R& r, dtype type) {
  const bool has_factors = !r.factors.empty();
  if (!has_factors && r.factor == 1.0) return plain(r.op);
  int made = sum;
  const int of = type_of(type);
  if (has_factors) {
    std::byte* const at = r.factors[static_cast<std::size_t>(r.part.rank)].address();
    note(nccl_.make_scaled_sum(&made, at, of, on_device, comm_), "ncclRedOpCreatePreMulSum");
  } else {
    double wide = r.op == reduction::avg ? r.factor / r.part.ranks() : r.factor;
    auto narrow = static_cast<float>(wide);
    void* const at = of == f64 ? static_cast<void*>(&wide) : &narrow;
    note(nccl_.make_scaled_sum(&made, at, of, host_immediate, comm_), "ncclRedOpCreatePreMulSum");
  }
  if (code_ == success) made_.push_back(made);
  return made;
}

void calls::make(const all_reduce& r) {
  for_each(r.x, r.part, [&](std::size_t, std::size_t mine) {
    const any_tensor& x = r.x[mine];
    note(nccl_.all_reduce(x.address(), r.y[mine].address(), elements(x), type_of(x.type()),
                          operation_of(r, x.type()), comm_, stream_),
         "ncclAllReduce");
  });
}

void calls::make(const reduce& r) {
  for_each(r.x, r.part, [&](std::size_t, std::size_t mine) {
    const any_tensor& x = r.x[mine];
    std::byte* const to = r.part.rank == r.root ? r.y[mine].address() : nullptr;
    note(nccl_.reduce(x.address(), to, elements(x), type_of(x.type()), operation_of(r, x.type()),
                      static_cast<int>(r.root), comm_, stream_),
         "ncclReduce");
  });
}

void calls::make(const reduce_scatter& r) {
  for_each(r.x, r.part, [&](std::size_t, std::size_t mine) {
    const any_tensor &x = r.x[mine], &y = r.y[mine];
    note(nccl_.reduce_scatter(x.address(), y.address(), elements(y), type_of(x.type()),
                              operation_of(r, x.type()), comm_, stream_),
         "ncclReduceScatter");
  });
}

void calls::make(const broadcast& r) {
  for_each(r.y, r.part, [&](std::size_t first, std::size_t mine) {
    const any_tensor& x = r.x[first + static_cast<std::size_t>(r.root)];
    const any_tensor& y = r.y[mine];
    const std::byte* const from = r.part.rank == r.root ? x.address() : y.address();
    note(nccl_.broadcast(from, y.address(), bytes_of(y), u8, static_cast<int>(r.root), comm_,
                         stream_),
         "ncclBroadcast");
  });
}

void calls::make(const all_gather& r) {
  for_each(r.x, r.part, [&](std::size_t, std::size_t mine) {
    note(nccl_.all_gather(r.x[mine].address(), r.y[mine].address(), bytes_of(r.x[mine]), u8, comm_,
                          stream_),
         "ncclAllGather");
  });
}

void calls::send(const any_tensor& from, std::int64_t first, std::int64_t count, std::size_t peer) {
  const std::int64_t element = size_of(from.type());
  if (count == 0) return;
  note(nccl_.send(from.address() + first * element, static_cast<std::size_t>(count * element), u8,
                  static_cast<int>(peer), comm_, stream_),
       "ncclSend");
}

void calls::receive(const any_tensor& to, std::int64_t first, std::int64_t count,
                    std::size_t peer) {
  const std::int64_t element = size_of(to.type());
  if (count == 0) return;
  note(nccl_.receive(to.address() + first * element, static_cast<std::size_t>(count * element), u8,
                     static_cast<int>(peer), comm_, stream_),
       "ncclRecv");
}

void calls::make(const gather& r) {
  for_each(r.x, r.part, [&](std::size_t first, std::size_t mine) {
    send(r.x[mine], 0, r.x[mine].count(), static_cast<std::size_t>(r.root));
    if (r.part.rank != r.root) return;
    for (std::size_t peer = 0; peer < static_cast<std::size_t>(r.part.ranks()); ++peer) {
      const std::int64_t count = r.x[first + peer].count();
      receive(r.y[mine], static_cast<std::int64_t>(peer) * count, count, peer);
    }
  });
}

void calls::make(const scatter& r) {
  for_each(r.y, r.part, [&](std::size_t first, std::size_t mine) {
    const std::int64_t count = r.y[mine].count();
    if (r.part.rank == r.root) {
      for (std::size_t peer = 0; peer < static_cast<std::size_t>(r.part.ranks()); ++peer)
        send(r.x[first + static_cast<std::size_t>(r.root)], static_cast<std::int64_t>(peer) * count,
             count, peer);
    }
    receive(r.y[mine], 0, count, static_cast<std::size_t>(r.root));
  });
}

void calls::make(const all_to_all& r) {
  for_each(r.y, r.part, [&](std::size_t, std::size_t mine) {
    const std::int64_t count = r.y[mine].count() / r.part.ranks();
    for (std::size_t peer = 0; peer < static_cast<std::size_t>(r.part.ranks()); ++peer) {
      send(r.x[mine], static_cast<std::int64_t>(peer) * count, count, peer);
      receive(r.y[mine], static_cast<std::int64_t>(peer) * count, count, peer);
    }
  });
}

void calls::make(const all_to_allv& r) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  const auto mine = static_cast<std::size_t>(r.part.rank);
  std::int64_t from = 0, to = 0;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    const std::int64_t sent = r.counts[mine * ranks + peer];
    const std::int64_t received = r.counts[peer * ranks + mine];
    send(r.x[mine], from, sent, peer);
    receive(r.y[mine], to, received, peer);
    from += sent;
    to += received;
  }
}

// The copies between two ranks match in the order of the items.
void calls::make(const exchange& r) {
  for_each(r.y, r.part, [&](std::size_t first, std::size_t mine) {
    const auto given = [&](const std::vector<any_tensor>& of) {
      std::size_t at = first;
      while (of[at].null())
        ++at;
      return at - first;
    };
    const std::size_t source = given(r.x), target = given(r.y);
    if (!r.x[mine].null()) send(r.x[mine], 0, r.x[mine].count(), target);
    if (!r.y[mine].null()) receive(r.y[mine], 0, r.y[mine].count(), source);
  });
}

}  // namespace troupe::collective::nccl
