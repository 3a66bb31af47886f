#pragma once

#include "report.hpp"

namespace troupe::bench {

/// Requests with times of one in 64, and of all, beside a system that takes none.
void measure_asks(report& out);
/// Noting a duration, and a scrape, beside prometheus-cpp if there is one.
void measure_counting(report& out);
/// Health and events over HTTP, beside what has happened.
void measure_truth(report& out);

}  // namespace troupe::bench
