#include "libraries/solver/cuda/cusolver.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/status.hpp"

#include <memory>

namespace troupe::cuda {
namespace {

constexpr char attachment_key = 0;

struct attached {
  cusolver_lane all;

  attached() = default;
  attached(const attached&) = delete;
  attached& operator=(const attached&) = delete;
  ~attached() {
    if (all.jacobi_svd != nullptr) (void)cusolverDnDestroyGesvdjInfo(all.jacobi_svd);
    if (all.jacobi_eigen != nullptr) (void)cusolverDnDestroySyevjInfo(all.jacobi_eigen);
    if (all.parameters != nullptr) (void)cusolverDnDestroyParams(all.parameters);
    if (all.handle != nullptr) (void)cusolverDnDestroy(all.handle);
  }
};

result<void> make_handle(cusolver_lane& all) {
  auto made = check(cusolverDnCreate(&all.handle), "cusolverDnCreate", all.stream);
  // Here cuSOLVER reports a failed allocation as "not initialized": if the context were lost, the
  // stream would have reported it.
  if (!made && made.error().vendor_code == CUSOLVER_STATUS_NOT_INITIALIZED &&
      made.error().code == errc::library_error) {
    made.error().code = errc::out_of_memory;
  }
  return made;
}

result<std::shared_ptr<attached>> attach(lane& where) {
  auto made = std::make_shared<attached>();
  cusolver_lane& all = made->all;
  all.stream = where.stream();
  TRY(make_handle(all));
  TRY(check(cusolverDnSetStream(all.handle, all.stream), "cusolverDnSetStream", all.stream));
  TRY(check(cusolverDnCreateParams(&all.parameters), "cusolverDnCreateParams", all.stream));
  TRY(check(cusolverDnCreateSyevjInfo(&all.jacobi_eigen), "cusolverDnCreateSyevjInfo", all.stream));
  TRY(check(cusolverDnCreateGesvdjInfo(&all.jacobi_svd), "cusolverDnCreateGesvdjInfo", all.stream));
  return made;
}

}  // namespace

result<const cusolver_lane*> cusolver_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    place = TRY(attach(where));
  }
  return &static_cast<const attached*>(place.get())->all;
}

result<void> check(cusolverStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUSOLVER_STATUS_SUCCESS) return {};
  return failure_of(cusolver_statuses, status, "cusolver", call, stream);
}

}  // namespace troupe::cuda
