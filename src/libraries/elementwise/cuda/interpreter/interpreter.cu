#include "backend/cuda/context/launch.cuh"
#include "backend/cuda/context/loading.hpp"
#include "libraries/elementwise/cuda/device_code.cuh"
#include "libraries/elementwise/cuda/interpreter/interpreter.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace troupe::cuda {
namespace {

using namespace elementwise::gpu;
using elementwise::number;
using elementwise::opcode;

/// Where a thread keeps its values: a column of shared memory.
struct slots {
  long* first;
  unsigned stride;
  const parameters* p;

  __device__ long bits(unsigned place) const {
    return place >= first_constant ? p->constants[place - first_constant] : first[place * stride];
  }
  template <class T>
  __device__ T get(unsigned place) const {
    return cell_as<T>(bits(place));
  }
  template <class T>
  __device__ void put(unsigned place, T x) const {
    put_cell(first + place * stride, x);
  }
};

// As the functions that compiled code calls.
#define OF_ONE(name, real, integer)                                         \
  case opcode::name:                                                        \
    if (type == number::f32) return at.put(s.y, real(at.get<float>(s.a)));  \
    if (type == number::f64) return at.put(s.y, real(at.get<double>(s.a))); \
    integer(return at.put(s.y, real(at.get<i64>(s.a))));                    \
    return;
#define OF_TWO(name, real, integer)                                                              \
  case opcode::name:                                                                             \
    if (type == number::f32) return at.put(s.y, real(at.get<float>(s.a), at.get<float>(s.b)));   \
    if (type == number::f64) return at.put(s.y, real(at.get<double>(s.a), at.get<double>(s.b))); \
    integer(return at.put(s.y, real(at.get<i64>(s.a), at.get<i64>(s.b))));                       \
    return;
#define FAST(name, fast) \
  case opcode::name:     \
    return at.put(s.y, fast(at.get<float>(s.a)));
#define WITH(x) x
#define WITHOUT(x)
#define BITS(name, function)                                              \
  case opcode::name:                                                      \
    if (type == number::boolean)                                          \
      return at.put(s.y, function(at.get<bool>(s.a), at.get<bool>(s.b))); \
    return at.put(s.y, function(at.get<i64>(s.a), at.get<i64>(s.b)));

__device__ bool execute_fast(const interpreter_step& s, const slots& at) {
  switch (static_cast<opcode>(s.op)) {
    case opcode::divide:
      at.put(s.y, op_divide_fast(at.get<float>(s.a), at.get<float>(s.b)));
      return true;
    case opcode::exp:
      at.put(s.y, op_exp_fast(at.get<float>(s.a)));
      return true;
    case opcode::exp2:
      at.put(s.y, op_exp2_fast(at.get<float>(s.a)));
      return true;
    case opcode::rsqrt:
      at.put(s.y, op_rsqrt_fast(at.get<float>(s.a)));
      return true;
    case opcode::sqrt:
      at.put(s.y, op_sqrt_fast(at.get<float>(s.a)));
      return true;
    case opcode::tanh:
      at.put(s.y, op_tanh_fast(at.get<float>(s.a)));
      return true;
    default:
      return false;
  }
}

template <class From>
__device__ void convert_from(const interpreter_step& s, const slots& at) {
  const From x = at.get<From>(s.a);
  switch (static_cast<number>(s.result)) {
    case number::boolean:
      return at.put(s.y, to_boolean(x));
    case number::i64:
      return at.put(s.y, to_i64(x));
    case number::f32:
      return at.put(s.y, to_f32(x));
    case number::f64:
      return at.put(s.y, to_f64(x));
  }
}

template <class F>
__device__ void with_element(dtype type, F f) {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return f(double());
    case dtype::f32:
    case dtype::c64:
      return f(float());
    case dtype::f16:
      return f(elementwise::gpu::f16());
    case dtype::bf16:
      return f(elementwise::gpu::bf16());
    case dtype::e4m3:
      return f(elementwise::gpu::e4m3());
    case dtype::e5m2:
      return f(elementwise::gpu::e5m2());
    case dtype::i8:
      return f((signed char)0);
    case dtype::u8:
      return f((unsigned char)0);
    case dtype::i16:
      return f(short());
    case dtype::u16:
      return f((unsigned short)0);
    case dtype::i32:
      return f(int());
    case dtype::u32:
      return f(0u);
    case dtype::i64:
      return f(0l);
    case dtype::u64:
      return f(0ul);
    case dtype::boolean:
      return f(false);
  }
}

__device__ int bits_of(dtype type) {
  return type == dtype::i8 || type == dtype::u8     ? 8
         : type == dtype::i16 || type == dtype::u16 ? 16
         : type == dtype::i32 || type == dtype::u32 ? 32
                                                    : 64;
}

__device__ void cast_to(const interpreter_step& s, const slots& at) {
  with_element(static_cast<dtype>(s.element), [&](auto one) {
    using T = decltype(one);
    using Number = decltype(loaded(one));
    at.put(s.y, loaded(stored<T>(at.get<Number>(s.a))));
  });
}

__device__ void execute_unsigned(const interpreter_step& s, const slots& at) {
  const i64 a = at.get<i64>(s.a);
  const auto op = static_cast<opcode>(s.op);
  if (op == elementwise::unsigned_to_real) {
    if (static_cast<number>(s.result) == number::f32) return at.put(s.y, unsigned_to_f32(a));
    return at.put(s.y, unsigned_to_f64(a));
  }
  const i64 b = at.get<i64>(s.b);
  if (op == elementwise::unsigned_quotient) return at.put(s.y, op_unsigned_quotient(a, b));
  if (op == elementwise::unsigned_remainder) return at.put(s.y, op_unsigned_remainder(a, b));
  at.put(s.y, op_unsigned_shift_right(a, b));
}

__device__ __noinline__ void execute(const interpreter_step& s, const slots& at) {
  const auto type = static_cast<number>(s.type);
  if (s.fast != 0 && execute_fast(s, at)) return;
  if (s.op == static_cast<unsigned char>(elementwise::convert)) {
    switch (type) {
      case number::boolean:
        return convert_from<bool>(s, at);
      case number::i64:
        return convert_from<i64>(s, at);
      case number::f32:
        return convert_from<float>(s, at);
      case number::f64:
        return convert_from<double>(s, at);
    }
  }
  if (s.op == static_cast<unsigned char>(elementwise::round_to_odd)) {
    return at.put(s.y, rounded_to_odd(at.get<double>(s.a)));
  }
  if (s.op == static_cast<unsigned char>(elementwise::to_integer)) {
    const auto to = static_cast<dtype>(s.element);
    const bool is_signed =
        to == dtype::i8 || to == dtype::i16 || to == dtype::i32 || to == dtype::i64;
    if (type == number::f64)
      return at.put(s.y, to_integer(at.get<double>(s.a), bits_of(to), is_signed));
    return at.put(s.y, to_integer(at.get<float>(s.a), bits_of(to), is_signed));
  }
  if (s.op >= static_cast<unsigned char>(elementwise::unsigned_to_real)) {
    return execute_unsigned(s, at);
  }
  switch (static_cast<opcode>(s.op)) {
    OF_ONE(negative, op_negative, WITH)
    OF_ONE(absolute, op_abs, WITH)
    OF_ONE(sign, op_sign, WITH)
    OF_ONE(ceil, op_ceil, WITHOUT)
    OF_ONE(floor, op_floor, WITHOUT)
    OF_ONE(trunc, op_trunc, WITHOUT)
    OF_ONE(round, op_round, WITHOUT)
    OF_ONE(sqrt, op_sqrt, WITHOUT)
    OF_ONE(rsqrt, op_rsqrt, WITHOUT)
    OF_ONE(cbrt, op_cbrt, WITHOUT)
    OF_ONE(exp, op_exp, WITHOUT)
    OF_ONE(exp2, op_exp2, WITHOUT)
    OF_ONE(expm1, op_expm1, WITHOUT)
    OF_ONE(log, op_log, WITHOUT)
    OF_ONE(log2, op_log2, WITHOUT)
    OF_ONE(log10, op_log10, WITHOUT)
    OF_ONE(log1p, op_log1p, WITHOUT)
    OF_ONE(sin, op_sin, WITHOUT)
    OF_ONE(cos, op_cos, WITHOUT)
    OF_ONE(tan, op_tan, WITHOUT)
    OF_ONE(asin, op_asin, WITHOUT)
    OF_ONE(acos, op_acos, WITHOUT)
    OF_ONE(atan, op_atan, WITHOUT)
    OF_ONE(sinh, op_sinh, WITHOUT)
    OF_ONE(cosh, op_cosh, WITHOUT)
    OF_ONE(tanh, op_tanh, WITHOUT)
    OF_ONE(asinh, op_asinh, WITHOUT)
    OF_ONE(acosh, op_acosh, WITHOUT)
    OF_ONE(atanh, op_atanh, WITHOUT)
    OF_ONE(erf, op_erf, WITHOUT)
    OF_ONE(erfc, op_erfc, WITHOUT)
    OF_ONE(lgamma, op_lgamma, WITHOUT)
    OF_ONE(tgamma, op_tgamma, WITHOUT)
    OF_ONE(is_nan, op_is_nan, WITHOUT)
    OF_ONE(is_infinite, op_is_infinite, WITHOUT)
    OF_TWO(add, op_add, WITH)
    OF_TWO(subtract, op_subtract, WITH)
    OF_TWO(multiply, op_multiply, WITH)
    OF_TWO(divide, op_divide, WITHOUT)
    OF_TWO(quotient, op_quotient, WITH)
    OF_TWO(remainder, op_remainder, WITH)
    OF_TWO(power, op_power, WITHOUT)
    OF_TWO(atan2, op_atan2, WITHOUT)
    OF_TWO(hypot, op_hypot, WITHOUT)
    OF_TWO(copysign, op_copysign, WITHOUT)
    OF_TWO(minimum, op_minimum, WITH)
    OF_TWO(maximum, op_maximum, WITH)
    OF_TWO(fmin, op_fmin, WITH)
    OF_TWO(fmax, op_fmax, WITH)
    OF_TWO(equal, op_equal, WITH)
    OF_TWO(not_equal, op_not_equal, WITH)
    OF_TWO(less, op_less, WITH)
    OF_TWO(less_equal, op_less_equal, WITH)
    BITS(bit_and, op_bit_and)
    BITS(bit_or, op_bit_or)
    BITS(bit_xor, op_bit_xor)
    case opcode::bit_not:
      if (type == number::boolean) return at.put(s.y, op_bit_not(at.get<bool>(s.a)));
      return at.put(s.y, op_bit_not(at.get<i64>(s.a)));
    case opcode::shift_left:
      return at.put(s.y, op_shift_left(at.get<i64>(s.a), at.get<i64>(s.b)));
    case opcode::shift_right:
      return at.put(s.y, op_shift_right(at.get<i64>(s.a), at.get<i64>(s.b)));
    case opcode::philox:
      return at.put(s.y, op_philox(at.get<i64>(s.a), at.get<i64>(s.b)));
    case opcode::fma:
      if (type == number::f32)
        return at.put(s.y, op_fma(at.get<float>(s.a), at.get<float>(s.b), at.get<float>(s.c)));
      if (type == number::f64)
        return at.put(s.y, op_fma(at.get<double>(s.a), at.get<double>(s.b), at.get<double>(s.c)));
      return at.put(s.y, op_fma(at.get<i64>(s.a), at.get<i64>(s.b), at.get<i64>(s.c)));
    case opcode::select:
      at.first[s.y * at.stride] = at.get<bool>(s.a) ? at.bits(s.b) : at.bits(s.c);
      return;
    case opcode::cast:
      return cast_to(s, at);
    default:
      return;
  }
}

/// Where one element of the operands is: an index over rows and one over a row.
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

/// The part of a row that a thread has seen, by row operation.
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

/// What the threads of a team have of a row.
struct row_team {
  const interpreter_program& program;
  const parameters& p;
  slots at;
  long* parts;     ///< behind the slots, two words for each row operation
  unsigned apart;  ///< from one part of a thread to the next
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
  /// Steps from `first` on, each `team`-th.
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
  /// The uniform values of a pass, in memory between two kernels.
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

// Of rows that several blocks share: one pass over a part of a row, then what joins the parts.
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

constexpr int most_shared_bytes = 226 * 1024;  // beside what is static

const kernel_loading ahead_of_use(load_interpreter);

}  // namespace

result<void> load_interpreter() {
  const auto ready = [](auto kernel) -> result<void> {
    if (auto allowed = check(
            cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared_bytes),
            "cudaFuncSetAttribute");
        !allowed) {
      return allowed;
    }
    return load(kernel);
  };
  if (auto done = ready(interpret_map); !done) return done;
  if (auto done = ready(interpret_rows); !done) return done;
  if (auto done = ready(interpret_part); !done) return done;
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
      if (auto done = enqueue(interpret_part, p.blocks, p.threads, program, with, stream, i); !done)
        return done;
    }
    if (auto done = enqueue(interpret_join, static_cast<std::int64_t>(with.rows), 32, program, with,
                            stream, i);
        !done)
      return done;
  }
  return {};
}

}  // namespace troupe::cuda
