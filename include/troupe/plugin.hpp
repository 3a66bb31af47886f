#pragma once

/// Headers for a program's own operations: requests and executors for the CPU. Executors for CUDA
/// also need `troupe/plugin/cuda.hpp`.

#include <troupe/plugin/executor.hpp>
#include <troupe/plugin/plugin_requests.hpp>
#include <troupe/plugin/static_registration.hpp>
#include <troupe/plugin/worker_entry.hpp>
#include <troupe/request/request.hpp>
