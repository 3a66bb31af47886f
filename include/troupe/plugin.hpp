#pragma once

/// What operations of one's own are written with: requests and the executors of the CPU. Those of
/// CUDA need `troupe/plugin/cuda.hpp` besides.

#include <troupe/plugin/executor.hpp>
#include <troupe/plugin/static_registration.hpp>
#include <troupe/plugin/worker_entry.hpp>
#include <troupe/request/request.hpp>
