#pragma once

/// Layers of neural networks.

#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/batch_norm.hpp>
#include <troupe/dnn/computation.hpp>
#include <troupe/dnn/convolution.hpp>
#include <troupe/dnn/graph.hpp>
#include <troupe/dnn/kv_append.hpp>
#include <troupe/dnn/kv_cache.hpp>
#include <troupe/dnn/lrn.hpp>
#include <troupe/dnn/modes.hpp>
#include <troupe/dnn/nodes.hpp>
#include <troupe/dnn/plans.hpp>
#include <troupe/dnn/pooling.hpp>
#include <troupe/dnn/resample.hpp>
#include <troupe/dnn/rnn.hpp>
#include <troupe/dnn/sampling.hpp>
