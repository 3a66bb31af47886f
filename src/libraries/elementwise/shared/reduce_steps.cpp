#include "libraries/elementwise/shared/steps.hpp"

namespace troupe::elementwise {

steps steps_of(const reduce& r) { return {rows_of(r).value()}; }

}  // namespace troupe::elementwise
