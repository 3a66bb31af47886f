#include <troupe/sparse/validation.hpp>

namespace troupe::sparse {

void validate::describe(description<validate>& d) {
  d.about("Checks the pattern of a sparse matrix where it lies.");
  d.group("a", &validate::a);
}

}  // namespace troupe::sparse
