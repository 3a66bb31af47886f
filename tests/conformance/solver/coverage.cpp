#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover solver("solver", {
                                      {"getrf getrs getri gesv potrf potrs potri posv trtri geqrf "
                                       "orgqr ormqr geqp3 gbsv pbsv sytrf sytrs",
                                       {f32, f64, c64, c128}},
                                      {"gels svd eigh eigh_generalised eig eig_generalised",
                                       {f32, f64, c64, c128}},
                                      {"gesv_refined", {f64, c128}},
                                      {"hetrf hetrs", {c64, c128}},
                                      {"sparse_cholesky sparse_lu sparse_qr", {i32, i64}},
                                  });

}  // namespace
}  // namespace troupe::conformance
