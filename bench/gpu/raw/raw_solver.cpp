#include "raw_solver.hpp"

#include "raw_check.hpp"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cstddef>
#include <vector>

namespace troupe::bench::raw {
namespace {

void check(cusolverStatus_t status, const char* call) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": status " + std::to_string(status));
}
void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasGetStatusName(status));
}

constexpr cudaDataType f32 = CUDA_R_32F;

}  // namespace

struct solver::state {
  stream& on;
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t parameters = nullptr;
  gesvdjInfo_t jacobi = nullptr;
  cublasHandle_t blas = nullptr;
  std::unique_ptr<memory> device{};
  std::vector<std::byte> host{};
  std::unique_ptr<memory> values{};  // tau, eigenvalues, lists, vectors
  std::unique_ptr<memory> pivots{};
  std::unique_ptr<memory> info{};

  static void grow(std::unique_ptr<memory>& room, std::size_t bytes) {
    if (!room || room->bytes().size() < bytes) {
      room.reset();
      room = std::make_unique<memory>(memory::place::device, bytes);
    }
  }
  void reserve(std::size_t on_device, std::size_t on_host) {
    grow(device, on_device + 256);
    if (host.size() < on_host) host.resize(on_host);
  }
  [[nodiscard]] int* its_info() const { return static_cast<int*>(info->address()); }
};

solver::solver(stream& on) : state_(new state{.on = on}) {
  state& s = *state_;
  check(cusolverDnCreate(&s.handle), "cusolverDnCreate");
  check(cusolverDnSetStream(s.handle, of(on.native())), "cusolverDnSetStream");
  check(cusolverDnCreateParams(&s.parameters), "cusolverDnCreateParams");
  check(cusolverDnCreateGesvdjInfo(&s.jacobi), "cusolverDnCreateGesvdjInfo");
  check(cublasCreate(&s.blas), "cublasCreate");
  check(cublasSetStream(s.blas, of(on.native())), "cublasSetStream");
  state::grow(s.info, 1 << 20);
}

solver::~solver() {
  (void)cublasDestroy(state_->blas);
  (void)cusolverDnDestroyGesvdjInfo(state_->jacobi);
  (void)cusolverDnDestroyParams(state_->parameters);
  (void)cusolverDnDestroy(state_->handle);
}

void solver::run(what routine, std::int64_t n, void* a) {
  state& s = *state_;
  state::grow(s.values, static_cast<std::size_t>(n) * sizeof(float));
  state::grow(s.pivots, static_cast<std::size_t>(n) * sizeof(std::int64_t));
  void* const values = s.values->address();
  auto* const pivots = static_cast<std::int64_t*>(s.pivots->address());
  std::size_t device = 0;
  std::size_t host = 0;
  const auto room = [&] { s.reserve(device, host); };
  switch (routine) {
    case what::getrf:
      check(
          cusolverDnXgetrf_bufferSize(s.handle, s.parameters, n, n, f32, a, n, f32, &device, &host),
          "Xgetrf_bufferSize");
      room();
      return check(cusolverDnXgetrf(s.handle, s.parameters, n, n, f32, a, n, pivots, f32,
                                    s.device->address(), device, s.host.data(), host, s.its_info()),
                   "Xgetrf");
    case what::potrf:
      check(cusolverDnXpotrf_bufferSize(s.handle, s.parameters, CUBLAS_FILL_MODE_LOWER, n, f32, a,
                                        n, f32, &device, &host),
            "Xpotrf_bufferSize");
      room();
      return check(
          cusolverDnXpotrf(s.handle, s.parameters, CUBLAS_FILL_MODE_LOWER, n, f32, a, n, f32,
                           s.device->address(), device, s.host.data(), host, s.its_info()),
          "Xpotrf");
    case what::geqrf:
      check(cusolverDnXgeqrf_bufferSize(s.handle, s.parameters, n, n, f32, a, n, f32, values, f32,
                                        &device, &host),
            "Xgeqrf_bufferSize");
      room();
      return check(cusolverDnXgeqrf(s.handle, s.parameters, n, n, f32, a, n, f32, values, f32,
                                    s.device->address(), device, s.host.data(), host, s.its_info()),
                   "Xgeqrf");
    case what::syevd:
      check(cusolverDnXsyevd_bufferSize(s.handle, s.parameters, CUSOLVER_EIG_MODE_VECTOR,
                                        CUBLAS_FILL_MODE_LOWER, n, f32, a, n, f32, values, f32,
                                        &device, &host),
            "Xsyevd_bufferSize");
      room();
      return check(cusolverDnXsyevd(s.handle, s.parameters, CUSOLVER_EIG_MODE_VECTOR,
                                    CUBLAS_FILL_MODE_LOWER, n, f32, a, n, f32, values, f32,
                                    s.device->address(), device, s.host.data(), host, s.its_info()),
                   "Xsyevd");
    case what::gesvdj: {
      const int side = static_cast<int>(n);
      auto* const matrix = static_cast<float*>(a);
      auto* const found = static_cast<float*>(values);
      int elements = 0;
      check(cusolverDnSgesvdj_bufferSize(s.handle, CUSOLVER_EIG_MODE_NOVECTOR, 1, side, side,
                                         matrix, side, found, nullptr, side, nullptr, side,
                                         &elements, s.jacobi),
            "Sgesvdj_bufferSize");
      s.reserve(static_cast<std::size_t>(elements) * sizeof(float), 0);
      return check(cusolverDnSgesvdj(s.handle, CUSOLVER_EIG_MODE_NOVECTOR, 1, side, side, matrix,
                                     side, found, nullptr, side, nullptr, side,
                                     static_cast<float*>(s.device->address()), elements,
                                     s.its_info(), s.jacobi),
                   "Sgesvdj");
    }
  }
}

void solver::run(batch routine, int n, int count, void* a, void* b) {
  state& s = *state_;
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(count);
  auto* const matrices = static_cast<float*>(a);
  switch (routine) {
    case batch::solve: {
      state::grow(s.pivots, elements * sizeof(int));
      state::grow(s.values, 2 * static_cast<std::size_t>(count) * sizeof(float*));
      std::vector<float*> lists(2 * static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        lists[i] = matrices + i * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
        lists[static_cast<std::size_t>(count) + i] =
            static_cast<float*>(b) + i * static_cast<std::size_t>(n);
      }
      auto** const on_device = static_cast<float**>(s.values->address());
      s.on.copy(on_device, lists.data(), lists.size() * sizeof(float*));
      auto* const pivots = static_cast<int*>(s.pivots->address());
      check(cublasSgetrfBatched(s.blas, n, on_device, n, pivots, s.its_info(), count),
            "cublasSgetrfBatched");
      int info = 0;
      return check(cublasSgetrsBatched(s.blas, CUBLAS_OP_N, n, 1, on_device, n, pivots,
                                       on_device + count, n, &info, count),
                   "cublasSgetrsBatched");
    }
    case batch::syev: {
      state::grow(s.values, elements * sizeof(float));
      std::size_t device = 0;
      std::size_t host = 0;
      check(cusolverDnXsyevBatched_bufferSize(s.handle, s.parameters, CUSOLVER_EIG_MODE_VECTOR,
                                              CUBLAS_FILL_MODE_LOWER, n, f32, a, n, f32,
                                              s.values->address(), f32, &device, &host, count),
            "XsyevBatched_bufferSize");
      s.reserve(device, host);
      return check(cusolverDnXsyevBatched(s.handle, s.parameters, CUSOLVER_EIG_MODE_VECTOR,
                                          CUBLAS_FILL_MODE_LOWER, n, f32, a, n, f32,
                                          s.values->address(), f32, s.device->address(), device,
                                          s.host.data(), host, s.its_info(), count),
                   "XsyevBatched");
    }
    case batch::gesvdj: {
      const std::size_t vectors = elements * static_cast<std::size_t>(n);
      state::grow(s.values, (elements + 2 * vectors) * sizeof(float));
      auto* const values = static_cast<float*>(s.values->address());
      float* const u = values + elements;
      float* const v = u + vectors;
      int work = 0;
      check(cusolverDnSgesvdjBatched_bufferSize(s.handle, CUSOLVER_EIG_MODE_VECTOR, n, n, matrices,
                                                n, values, u, n, v, n, &work, s.jacobi, count),
            "SgesvdjBatched_bufferSize");
      s.reserve(static_cast<std::size_t>(work) * sizeof(float), 0);
      return check(
          cusolverDnSgesvdjBatched(s.handle, CUSOLVER_EIG_MODE_VECTOR, n, n, matrices, n, values, u,
                                   n, v, n, static_cast<float*>(s.device->address()), work,
                                   s.its_info(), s.jacobi, count),
          "SgesvdjBatched");
    }
  }
}

}  // namespace troupe::bench::raw
