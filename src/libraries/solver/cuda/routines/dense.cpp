#include "libraries/solver/cuda/routines/dense.hpp"

#include "base/try.hpp"
#include "libraries/solver/cuda/call.hpp"

namespace troupe::cuda {
namespace {

/// Converts the size that `ask` reports in elements to bytes.
template <class Ask>
result<routine_bytes> elements_of(dtype type, Ask ask) {
  int count = 0;
  TRY(ask(&count));
  return routine_bytes{.device = static_cast<std::size_t>(count) *
                                 static_cast<std::size_t>(size_of(type))};
}

template <class Ask>
result<routine_bytes> bytes_said_by(Ask ask, std::string_view call, cudaStream_t stream) {
  routine_bytes said;
  TRY(check(ask(said), call, stream));
  return said;
}

}  // namespace

result<routine_bytes> getrf_bytes(const cusolver_lane& s, const matrices& a, const void* like) {
  const cudaDataType type = as_cuda(a.type);
  return bytes_said_by(
      [&](routine_bytes& said) {
        return cusolverDnXgetrf_bufferSize(s.handle, s.parameters, a.rows, a.columns, type, like,
                                           a.ld, type, &said.device, &said.host);
      },
      "cusolverDnXgetrf_bufferSize", s.stream);
}

result<void> getrf(const on_matrix& on, std::int64_t* pivots) {
  const cudaDataType type = as_cuda(on.a.type);
  const routine_bytes& bytes = on.frame.shared_bytes();
  return check(cusolverDnXgetrf(on.solver.handle, on.solver.parameters, on.a.rows, on.a.columns,
                                type, on.a.at(on.matrix), on.a.ld, pivots, type, on.frame.shared(),
                                bytes.device, on.frame.shared_host(), bytes.host, on.info),
               "cusolverDnXgetrf", on.solver.stream);
}

result<void> getrs(const on_matrix& on, cublasOperation_t op, const std::int64_t* pivots,
                   const matrices& b) {
  const cudaDataType type = as_cuda(on.a.type);
  return check(
      cusolverDnXgetrs(on.solver.handle, on.solver.parameters, op, on.a.rows, b.columns, type,
                       on.a.at(on.matrix), on.a.ld, pivots, type, b.at(on.matrix), b.ld, on.info),
      "cusolverDnXgetrs", on.solver.stream);
}

result<routine_bytes> potrf_bytes(const cusolver_lane& s, const matrices& a, bool upper,
                                  const void* like) {
  const cudaDataType type = as_cuda(a.type);
  return bytes_said_by(
      [&](routine_bytes& said) {
        return cusolverDnXpotrf_bufferSize(s.handle, s.parameters, fill_mode(upper), a.rows, type,
                                           like, a.ld, type, &said.device, &said.host);
      },
      "cusolverDnXpotrf_bufferSize", s.stream);
}

result<void> potrf(const on_matrix& on, bool upper) {
  const cudaDataType type = as_cuda(on.a.type);
  const routine_bytes& bytes = on.frame.shared_bytes();
  return check(cusolverDnXpotrf(on.solver.handle, on.solver.parameters, fill_mode(upper), on.a.rows,
                                type, on.a.at(on.matrix), on.a.ld, type, on.frame.shared(),
                                bytes.device, on.frame.shared_host(), bytes.host, on.info),
               "cusolverDnXpotrf", on.solver.stream);
}

result<void> potrs(const on_matrix& on, bool upper, const matrices& b) {
  const cudaDataType type = as_cuda(on.a.type);
  return check(cusolverDnXpotrs(on.solver.handle, on.solver.parameters, fill_mode(upper), on.a.rows,
                                b.columns, type, on.a.at(on.matrix), on.a.ld, type, b.at(on.matrix),
                                b.ld, on.info),
               "cusolverDnXpotrs", on.solver.stream);
}

result<routine_bytes> potri_bytes(const cusolver_lane& s, const matrices& a, bool upper,
                                  const void*) {
  routine_bytes bytes;
  TRY(for_classic_type(a.type, [&]<class T>(T) -> result<void> {
    bytes = TRY(elements_of(a.type, [&](int* count) {
      return solver_routines<T>::potri_size(s, fill_mode(upper), narrow(a.rows),
                                            static_cast<T*>(nullptr), narrow(a.ld), count);
    }));
    return {};
  }));
  return bytes;
}

result<void> potri(const on_matrix& on, bool upper) {
  return for_classic_type(on.a.type, [&]<class T>(T) {
    return solver_routines<T>::potri(
        on.solver, fill_mode(upper), narrow(on.a.rows), on.a.at<T>(on.matrix), narrow(on.a.ld),
        reinterpret_cast<T*>(on.frame.shared()), on.frame.shared_elements<T>(), on.info);
  });
}

result<routine_bytes> sytrf_bytes(const cusolver_lane& s, const matrices& a) {
  routine_bytes bytes;
  TRY(for_classic_type(a.type, [&]<class T>(T) -> result<void> {
    bytes = TRY(elements_of(a.type, [&](int* count) {
      return solver_routines<T>::sytrf_size(s, narrow(a.rows), static_cast<T*>(nullptr),
                                            narrow(a.ld), count);
    }));
    return {};
  }));
  return bytes;
}

result<void> sytrf(const on_matrix& on, bool upper, std::int32_t* pivots) {
  return for_classic_type(on.a.type, [&]<class T>(T) {
    return solver_routines<T>::sytrf(
        on.solver, fill_mode(upper), narrow(on.a.rows), on.a.at<T>(on.matrix), narrow(on.a.ld),
        pivots, reinterpret_cast<T*>(on.frame.shared()), on.frame.shared_elements<T>(), on.info);
  });
}

result<routine_bytes> trtri_bytes(const cusolver_lane& s, const matrices& a, bool upper, bool unit,
                                  const void* like) {
  return bytes_said_by(
      [&](routine_bytes& said) {
        return cusolverDnXtrtri_bufferSize(
            s.handle, fill_mode(upper), unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, a.rows,
            as_cuda(a.type), const_cast<void*>(like), a.ld, &said.device, &said.host);
      },
      "cusolverDnXtrtri_bufferSize", s.stream);
}

result<void> trtri(const on_matrix& on, bool upper, bool unit) {
  const routine_bytes& bytes = on.frame.shared_bytes();
  return check(cusolverDnXtrtri(on.solver.handle, fill_mode(upper),
                                unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, on.a.rows,
                                as_cuda(on.a.type), on.a.at(on.matrix), on.a.ld, on.frame.shared(),
                                bytes.device, on.frame.shared_host(), bytes.host, on.info),
               "cusolverDnXtrtri", on.solver.stream);
}

result<routine_bytes> geqrf_bytes(const cusolver_lane& s, const matrices& a, const void* like) {
  const cudaDataType type = as_cuda(a.type);
  return bytes_said_by(
      [&](routine_bytes& said) {
        return cusolverDnXgeqrf_bufferSize(s.handle, s.parameters, a.rows, a.columns, type, like,
                                           a.ld, type, like, type, &said.device, &said.host);
      },
      "cusolverDnXgeqrf_bufferSize", s.stream);
}

result<void> geqrf(const on_matrix& on, void* tau) {
  const cudaDataType type = as_cuda(on.a.type);
  const routine_bytes& bytes = on.frame.shared_bytes();
  return check(
      cusolverDnXgeqrf(on.solver.handle, on.solver.parameters, on.a.rows, on.a.columns, type,
                       on.a.at(on.matrix), on.a.ld, type, tau, type, on.frame.shared(),
                       bytes.device, on.frame.shared_host(), bytes.host, on.info),
      "cusolverDnXgeqrf", on.solver.stream);
}

result<routine_bytes> orgqr_bytes(const cusolver_lane& s, const matrices& a,
                                  std::int64_t reflectors, const void* like) {
  routine_bytes bytes;
  TRY(for_classic_type(a.type, [&]<class T>(T) -> result<void> {
    const auto* const any = static_cast<const T*>(like);
    bytes = TRY(elements_of(a.type, [&](int* count) {
      return solver_routines<T>::orgqr_size(s, narrow(a.rows), narrow(a.columns),
                                            narrow(reflectors), any, narrow(a.ld), any, count);
    }));
    return {};
  }));
  return bytes;
}

result<void> orgqr(const on_matrix& on, std::int64_t reflectors, const void* tau) {
  return for_classic_type(on.a.type, [&]<class T>(T) {
    return solver_routines<T>::orgqr(
        on.solver, narrow(on.a.rows), narrow(on.a.columns), narrow(reflectors),
        on.a.at<T>(on.matrix), narrow(on.a.ld), static_cast<const T*>(tau),
        reinterpret_cast<T*>(on.frame.shared()), on.frame.shared_elements<T>(), on.info);
  });
}

result<routine_bytes> ormqr_bytes(const cusolver_lane& s, const matrices& a, const by_q& how,
                                  const matrices& c, const void* like) {
  routine_bytes bytes;
  TRY(for_classic_type(a.type, [&]<class T>(T) -> result<void> {
    const auto* const any = static_cast<const T*>(like);
    bytes = TRY(elements_of(a.type, [&](int* count) {
      return solver_routines<T>::ormqr_size(s, how.side, how.op, narrow(c.rows), narrow(c.columns),
                                            narrow(how.reflectors), any, narrow(a.ld), any, any,
                                            narrow(c.ld), count);
    }));
    return {};
  }));
  return bytes;
}

result<void> ormqr(const on_matrix& on, const by_q& how, const void* tau, const matrices& c) {
  return for_classic_type(on.a.type, [&]<class T>(T) {
    return solver_routines<T>::ormqr(
        on.solver, how.side, how.op, narrow(c.rows), narrow(c.columns), narrow(how.reflectors),
        static_cast<const T*>(on.a.at<T>(on.matrix)), narrow(on.a.ld), static_cast<const T*>(tau),
        c.at<T>(on.matrix), narrow(c.ld), reinterpret_cast<T*>(on.frame.shared()),
        on.frame.shared_elements<T>(), on.info);
  });
}

}  // namespace troupe::cuda
