#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/device/device.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// LAPACK's routines as requests to an actor: a library that, preloaded into netlib's testing
/// programs, stands before the real LAPACK. Calls that make no request, which are queries of
/// workspace and calls with wrong arguments, go on to the real one.
namespace troupe::lapack {

using integer = std::int32_t;

template <class T>
struct real_part {
  using type = T;
};
template <class T>
struct real_part<std::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename real_part<T>::type;
template <class T>
inline constexpr bool complex_v = !std::is_same_v<T, real_t<T>>;

template <class T>
[[nodiscard]] T conjugate(T v) {
  if constexpr (complex_v<T>) return std::conj(v);
  return v;
}

/// A matrix of the caller, column-major.
template <class T>
struct block {
  T* at;
  integer rows;
  integer columns;
  integer ld;

  T& operator()(integer i, integer j) const { return at[i + static_cast<std::ptrdiff_t>(j) * ld]; }
};

/// Which elements of a result the caller gets: LAPACK leaves the others alone.
enum class part : std::uint8_t { all, upper, lower };

/// One call of a LAPACK routine that becomes requests. A request that fails in another way than
/// for its matrix ends the program.
class call {
 public:
  explicit call(const char* name);

  /// The inputs of requests: a column-major copy of the caller's matrix, or vector.
  template <class T>
  any_tensor in(const block<T>& m) {
    std::vector<T> packed;
    packed.reserve(static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.columns));
    for (integer j = 0; j < m.columns; ++j)
      packed.insert(packed.end(), &m(0, j), &m(0, j) + m.rows);
    const any_tensor t = out(dtype_of<T>, m.rows, m.columns);
    send(t.transpose(), std::as_bytes(std::span(packed)));
    return t;
  }
  template <class T>
  any_tensor in(std::span<const T> vector) {
    const any_tensor t = out(dtype_of<T>, static_cast<integer>(vector.size()));
    send(t, std::as_bytes(vector));
    return t;
  }
  /// The outputs of requests.
  any_tensor out(dtype type, integer rows, integer columns);
  any_tensor out(dtype type, integer count);

  /// Sends the request and waits. Answers LAPACK's INFO: the number in the error, which has to be
  /// that of `info`.
  template <request R>
  integer ask(const R& r) {
    if constexpr (requires { r.info; }) {
      R with_info = r;
      with_info.info = device_.allocate(dtype::i32, {}).value();
      const result<void> answer = answer_to(with_info);
      return outcome(R::name, answer, elements<integer>(with_info.info).front());
    } else {
      return outcome(R::name, answer_to(r), 0);
    }
  }

  template <class T>
  [[nodiscard]] std::vector<T> elements(const any_tensor& t) {
    std::vector<T> all(static_cast<std::size_t>(t.count()));
    receive(t, std::as_writable_bytes(std::span(all)));
    return all;
  }
  /// Writes a matrix of the result to the caller's.
  template <class T>
  void give(const any_tensor& t, const block<T>& m, part wanted = part::all) {
    const std::vector<T> all = elements<T>(t.transpose());
    for (integer j = 0; j < m.columns; ++j) {
      const integer begin = wanted == part::lower ? j : 0;
      const integer end = wanted == part::upper ? std::min(j + 1, m.rows) : m.rows;
      for (integer i = begin; i < end; ++i)
        m(i, j) = all[static_cast<std::size_t>(i) +
                      static_cast<std::size_t>(j) * static_cast<std::size_t>(t.extent(0))];
    }
  }
  template <class T>
  void give(const any_tensor& t, T* to) {
    const std::vector<T> all = elements<T>(t);
    std::ranges::copy(all, to);
  }

 private:
  void send(const any_tensor& to, std::span<const std::byte> bytes);
  void receive(const any_tensor& from, std::span<std::byte> bytes);
  template <request R>
  result<void> answer_to(const R& r) {
    result<void> answer = actor_.ask(r).get_result();
    settle();
    return answer;
  }
  void settle();
  [[nodiscard]] integer outcome(std::string_view request, const result<void>& answer,
                                integer info) const;

  struct sent_copy {
    std::vector<std::byte> bytes;
    future<void> done;
  };

  const char* name_;
  device device_;
  library_actor actor_;
  std::vector<sent_copy> copies_;
};

/// The real LAPACK's routine of this name, `dgetrf_`; counts.
[[nodiscard]] void* real_routine(const char* name);
template <class... Arguments>
void call_real(const char* name, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(real_routine(name))(arguments...);
}

/// LAPACK's rule for letters: either case.
[[nodiscard]] inline bool is(const char* letter, char wanted) {
  return (*letter & ~0x20) == wanted;
}
[[nodiscard]] inline bool is_one_of(const char* letter, std::string_view wanted) {
  return std::ranges::any_of(wanted, [&](char one) { return is(letter, one); });
}
[[nodiscard]] inline blas::uplo triangle(const char* uplo) {
  return is(uplo, 'U') ? blas::uplo::upper : blas::uplo::lower;
}
[[nodiscard]] inline bool is_leading(integer ld, integer rows) {
  return ld >= std::max<integer>(1, rows);
}

}  // namespace troupe::lapack

/// Defines `name` for each type, with its letter.
#define TROUPE_LAPACK_ALL(define) \
  define(float, s) define(double, d) define(std::complex<float>, c) define(std::complex<double>, z)
#define TROUPE_FORTRAN extern "C" __attribute__((visibility("default"))) void
/// The text in its parentheses: the workspaces of a routine, which differ between types.
#define TROUPE_LIST(...) __VA_ARGS__
