#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/loading.hpp"
#include "base/try.hpp"
#include "libraries/elementwise/cuda/interpreter/execution.cuh"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace troupe::cuda {
namespace {

using namespace elementwise::gpu;
using elementwise::number;
using elementwise::opcode;

/// The position of one element of the operands: an index over rows, and one within the row.
struct place {
  const interpreter_program* program;
  const parameters* p;
  u64 row;
  u64 element;

  __device__ long offset(unsigned k) const {
    const operand_parameters& o = p->operands[k];
    long at = reinterpret_cast<long>(o.address);
    const int loops = program->outer_loops + program->row_loops;
    // The innermost loop counts vectors.
    u64 rest = element;
    for (int d = loops - 1; d >= program->outer_loops; --d) {
      const bool inner = d == loops - 1;
      const u64 extent = p->loops[d].extent * (inner ? program->vector : 1);
      const u64 index = d == program->outer_loops ? rest : rest % extent;
      rest /= extent;
      at += (long)index * (inner ? o.strides[d] / program->vector : o.strides[d]);
    }
    rest = row;
    for (int d = program->outer_loops - 1; d >= 0; --d) {
      const u64 index = d == 0 ? rest : rest % p->loops[d].extent;
      rest /= p->loops[d].extent;
      at += (long)index * o.strides[d];
    }
    return at;
  }
};

__device__ __noinline__ void move(const interpreter_step& s, const slots& at, const place& here) {
  const auto op = static_cast<opcode>(s.op);
  if (op == opcode::row_length) return at.put(s.y, (i64)here.p->row_length);
  const long offset = here.offset(s.operand);
  if (op == opcode::index || op == opcode::position) return at.put(s.y, (i64)offset);
  with_element(static_cast<dtype>(s.element), [&](auto one) {
    using T = decltype(one);
    T* const memory = reinterpret_cast<T*>(offset) + s.part;
    if (op == opcode::input) {
      at.put(s.y, loaded(*memory));
    } else {
      using Number = decltype(loaded(one));
      *memory = stored<T>(at.get<Number>(s.a));
    }
  });
}

__device__ void run(const interpreter_program& program, interpreter_program::range steps,
                    const slots& at, const place& here) {
  for (unsigned i = steps.begin; i < steps.end; ++i) {
    const interpreter_step& s = program.steps[i];
    const auto op = static_cast<opcode>(s.op);
    if (op == opcode::input || op == opcode::output || op <= opcode::row_length) {
      move(s, at, here);
    } else {
      execute(s, at);
    }
  }
}

/// Calls `f` with a row operation and a value of its number type.
template <class F>
__device__ void with_row_operation(const interpreter_step& s, F f) {
  const auto typed = [&](auto operation) {
    switch (static_cast<number>(s.type)) {
      case number::f32:
        return f(operation, float());
      case number::f64:
        return f(operation, double());
      default:
        return f(operation, i64());
    }
  };
  switch (static_cast<opcode>(s.op)) {
    case opcode::row_sum:
      return typed(row_sum());
    case opcode::row_product:
      return typed(row_product());
    case opcode::row_minimum:
      return typed(row_minimum());
    case opcode::row_maximum:
      return typed(row_maximum());
    case opcode::row_argmin:
      return typed(row_argmin());
    default:
      return typed(row_argmax());
  }
}
template <class T>
__device__ T part_of(T number, i64, T) {
  return number;
}
template <class T>
__device__ placed<T> part_of(T number, i64 place, placed<T>) {
  return {number, place};
}
template <class T>
__device__ T result_of(T part) {
  return part;
}
template <class T>
__device__ i64 result_of(placed<T> part) {
  return part.place;
}

__global__ void __launch_bounds__(512)
    interpret_map(const __grid_constant__ interpreter_program program,
                  const __grid_constant__ parameters p) {
  extern __shared__ long memory[];
  const u64 element = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (element >= p.row_length) return;
  run(program, program.pass_at[0].elements, {memory + threadIdx.x, blockDim.x, &p},
      {&program, &p, 0, element});
}

/// The state that the threads of a team share about a row.
struct row_team {
  const interpreter_program& program;
  const parameters& p;
  slots at;
  long* parts;     ///< behind the slots, two words for each row operation
  unsigned apart;  ///< distance between the parts of a thread
  unsigned lane;
  u64 row;

  __device__ row_team(const interpreter_program& of, const parameters& with, long* memory,
                      unsigned lane_of, u64 row_of)
      : program(of),
        p(with),
        at{memory + threadIdx.x, blockDim.x, &with},
        parts(memory + of.slots * blockDim.x + 2 * threadIdx.x),
        apart(2 * blockDim.x),
        lane(lane_of),
        row(row_of) {}

  /// Calls `f(operation, part)` for each row operation of a pass.
  template <class F>
  __device__ void for_parts(const interpreter_program::pass& now, F f) const {
    for (unsigned n = now.rows.begin; n < now.rows.end; ++n) {
      const interpreter_step& s = program.steps[n];
      with_row_operation(s, [&](auto operation, auto number) {
        using Operation = decltype(operation);
        using Part = decltype(Operation::template start<decltype(number)>());
        f(s, operation, number, *reinterpret_cast<Part*>(parts + (n - now.rows.begin) * apart),
          n - now.rows.begin);
      });
    }
  }
  __device__ void start(const interpreter_program::pass& now) const {
    for_parts(now, [](const interpreter_step&, auto operation, auto number, auto& part, unsigned) {
      part = decltype(operation)::template start<decltype(number)>();
    });
  }
  /// Runs steps `first`, `first + team`, …
  __device__ void pass_over(const interpreter_program::pass& now, u64 first, u64 end) const {
    if (now.elements.begin == now.elements.end && now.rows.begin == now.rows.end) return;
    for (u64 step = first; step < end; step += program.team) {
      for (int j = 0; j < program.vector; ++j) {
        const u64 element = step * program.vector + j;
        run(program, now.elements, at, {&program, &p, row, element});
        for_parts(
            now, [&](const interpreter_step& s, auto operation, auto number, auto& part, unsigned) {
              part = decltype(operation)::join(
                  part, part_of(at.get<decltype(number)>(s.a), (i64)element, part));
            });
      }
    }
  }
  __device__ void join(const interpreter_program::pass& now, int threads, void* room) const {
    for_parts(now, [&](const interpreter_step& s, auto operation, auto, auto& part, unsigned) {
      at.put(s.y, result_of(joined<decltype(operation)>(part, threads, room)));
    });
  }
  __device__ void uniform(const interpreter_program::pass& now) const {
    const place here{&program, &p, row, 0};
    for (unsigned n = now.uniform.begin; n < now.uniform.end; ++n) {
      const interpreter_step& s = program.steps[n];
      if (static_cast<opcode>(s.op) == opcode::output) {
        if (lane == 0) move(s, at, here);
      } else {
        run(program, {(unsigned short)n, (unsigned short)(n + 1)}, at, here);
      }
    }
  }
  /// Calls `f` for each uniform value of a pass; these lie in memory between two kernels.
  template <class F>
  __device__ void for_cells(const interpreter_program::pass& now, F f) const {
    long* const cells = p.cells + row * interpreter_program::most_slots;
    for (unsigned n = now.rows.begin; n < now.uniform.end; ++n) {
      const interpreter_step& s = program.steps[n];
      if (static_cast<opcode>(s.op) != opcode::output) f(at.first[s.y * at.stride], cells[s.y]);
    }
  }
  __device__ void load_cells(int before) const {
    for (int i = 0; i < before; ++i)
      for_cells(program.pass_at[i], [](long& slot, const long& cell) { slot = cell; });
  }
};

__global__ void __launch_bounds__(512)
    interpret_rows(const __grid_constant__ interpreter_program program,
                   const __grid_constant__ parameters p) {
  extern __shared__ long memory[];
  __shared__ alignas(16) char room[512];
  const u64 row = (u64)blockIdx.x * (blockDim.x / program.team) + threadIdx.x / program.team;
  if (row >= p.rows) return;
  const row_team team(program, p, memory, threadIdx.x % program.team, row);
  for (int i = 0; i < program.passes; ++i) {
    const interpreter_program::pass& now = program.pass_at[i];
    team.start(now);
    team.pass_over(now, team.lane, p.row_steps);
    team.join(now, program.team, room);
    team.uniform(now);
  }
}

// For rows that several blocks share: a pass over a part of a row, then a kernel that joins the
// parts.
__global__ void __launch_bounds__(512)
    interpret_part(const __grid_constant__ interpreter_program program,
                   const __grid_constant__ parameters p, int pass) {
  extern __shared__ long memory[];
  __shared__ alignas(16) char room[512];
  const u64 split = blockIdx.x % p.splits;
  const row_team team(program, p, memory, threadIdx.x, blockIdx.x / p.splits);
  const interpreter_program::pass& now = program.pass_at[pass];
  team.load_cells(pass);
  team.start(now);
  const u64 first = split * p.split_steps;
  const u64 end = first + p.split_steps < p.row_steps ? first + p.split_steps : p.row_steps;
  team.pass_over(now, first + team.lane, end);
  const unsigned count = now.rows.end - now.rows.begin;
  team.for_parts(now, [&](const interpreter_step&, auto operation, auto, auto& part, unsigned i) {
    const auto all = joined<decltype(operation)>(part, program.team, room);
    using Part = decltype(all);
    char* const to = p.partials + ((team.row * p.splits + split) * count + i) * 16;
    if (team.lane == 0) *reinterpret_cast<std::remove_const_t<Part>*>(to) = all;
  });
}
__global__ void __launch_bounds__(32)
    interpret_join(const __grid_constant__ interpreter_program program,
                   const __grid_constant__ parameters p, int pass) {
  extern __shared__ long memory[];
  const row_team team(program, p, memory, threadIdx.x, blockIdx.x);
  const interpreter_program::pass& now = program.pass_at[pass];
  team.load_cells(pass);
  team.start(now);
  const unsigned count = now.rows.end - now.rows.begin;
  team.for_parts(now, [&](const interpreter_step&, auto operation, auto, auto& part, unsigned i) {
    for (u64 s = team.lane; s < p.splits; s += 32) {
      const char* const from = p.partials + ((team.row * p.splits + s) * count + i) * 16;
      part = decltype(operation)::join(
          part, *reinterpret_cast<const std::remove_reference_t<decltype(part)>*>(from));
    }
  });
  team.join(now, 32, nullptr);
  team.uniform(now);
  if (team.lane == 0) team.for_cells(now, [](const long& slot, long& cell) { cell = slot; });
}

constexpr int most_shared_bytes = 226 * 1024;  // beside the static ones

const kernel_loading ahead_of_use(load_interpreter);

}  // namespace

result<void> load_interpreter() {
  const auto ready = [](auto kernel) -> result<void> {
    TRY(check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared_bytes),
              "cudaFuncSetAttribute"));
    return load(kernel);
  };
  TRY(ready(interpret_map));
  TRY(ready(interpret_rows));
  TRY(ready(interpret_part));
  return ready(interpret_join);
}

namespace {

template <class... Arguments>
result<void> enqueue(void (*kernel)(const interpreter_program, const parameters, Arguments...),
                     std::int64_t blocks, unsigned threads, const interpreter_program& program,
                     const parameters& with, cudaStream_t stream, Arguments... more) {
  int parts = 0;
  for (int i = 0; i < program.passes; ++i)
    parts = std::max(parts, program.pass_at[i].rows.end - program.pass_at[i].rows.begin);
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(static_cast<unsigned>(blocks));
  shape.blockDim = dim3(threads);
  shape.dynamicSmemBytes =
      threads * static_cast<std::size_t>(program.slots + 2 * parts) * sizeof(long);
  shape.stream = stream;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {
    return error{.code = errc::unsupported, .message = "more rows than one launch takes"};
  }
  return check(cudaLaunchKernelEx(&shape, kernel, program, with, more...), "cudaLaunchKernelEx");
}

}  // namespace

result<void> enqueue_interpreter(const interpreter_program& program, const kernel_plan& p,
                                 const parameters& with, cudaStream_t stream) {
  if (p.is_map) {
    constexpr unsigned threads = 128;
    const auto elements = static_cast<std::int64_t>(with.row_length);
    return enqueue(interpret_map, (elements + threads - 1) / threads, threads, program, with,
                   stream);
  }
  if (!p.split) {
    const bool warps = p.team == 32;
    return enqueue(interpret_rows, warps ? static_cast<std::int64_t>(with.rows) : p.blocks,
                   warps ? 32 : p.threads, program, with, stream);
  }
  for (int i = 0; i < program.passes; ++i) {
    const interpreter_program::pass& now = program.pass_at[i];
    if (now.elements.begin < now.elements.end || now.rows.begin < now.rows.end) {
      TRY(enqueue(interpret_part, p.blocks, p.threads, program, with, stream, i));
    }
    TRY(enqueue(interpret_join, static_cast<std::int64_t>(with.rows), 32, program, with, stream,
                i));
  }
  return {};
}

}  // namespace troupe::cuda
