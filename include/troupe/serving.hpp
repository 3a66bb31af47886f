#pragma once

/// Serving: items become batches in front of a model.
#include <troupe/serving/batch_queue.hpp>
#include <troupe/serving/batcher.hpp>
#include <troupe/serving/cascade.hpp>
#include <troupe/serving/replicas.hpp>
#include <troupe/serving/versions.hpp>
