#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"
#include "libraries/dnn/requests/geometry.hpp"
#include "libraries/dnn/shared/epilogue.hpp"
#include "request/vendor_limit.hpp"

#include <array>

/// The cases that cuDNN is given.
namespace troupe::limits::cudnn {

inline constexpr vendor_limit convolution_order{
    .name = "dnn.convolution_order",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "all operands of a convolution lie with the channels first, or all with the "
        "channels last; those of f64 with the channels first",
    .evidence =
        "wrong results for other and for mixed orders, and a fault in f64 with the channels "
        "last: 9.14, H100, 2026-11-25",
    .test = "DnnConvolution.TakesEveryOrderOfDimensions"};
[[nodiscard]] bool accepts_order(const dnn::convolution& c, const dnn::epilogue& follows) noexcept;

inline constexpr vendor_limit convolution_alignment{
    .name = "dnn.convolution_alignment",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "operands of a convolution begin at multiples of 16 bytes",
    .evidence = "engines faulted that were told of smaller alignments: 9.14, H100, 2026-11-25",
    .test = "*DnnConvolutionOf.Random*/forward_f16"};
[[nodiscard]] bool accepts_alignment(const dnn::convolution& c,
                                     const dnn::epilogue& follows) noexcept;

inline constexpr vendor_limit convolution_padding{
    .name = "dnn.convolution_padding",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "a convolution has as many zeros before an axis as behind it, and fewer than the "
        "filter reaches",
    .evidence = "wrong results for some others: 9.14, H100, 2026-11-25",
    .test = "*DnnConvolutionTo.TakesEdgesOfSpace/forward"};
[[nodiscard]] bool accepts_padding(const dnn::convolution& c) noexcept;

// Other such gradients go well, and what differs is not known. In this one the filter is shorter
// than the stride, so some of the image gets nothing.
inline constexpr vendor_limit convolution_heuristics{
    .name = "dnn.convolution_heuristics",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "heuristics are not asked about a gradient of an image in f32 with three axes, one "
        "of them with a stride beyond what the filter reaches",
    .evidence =
        "they divide by zero, which ends the process, for the image [3, 1, 3, 4, 9], the "
        "filter [6, 1, 1, 2, 1], stride [2, 3, 2] and dilation [1, 2, 2]: 9.14, H100, "
        "2026-11-26",
    .test = "*DnnConvolutionOf.Random*/backward_data_f32"};
[[nodiscard]] bool accepts_heuristics(const dnn::convolution& c,
                                      cuda::graphs::convolution::kind way, bool in_f32) noexcept;

// cuDNN proposes it last, so mostly where it has no other: for sums in f32 of narrower types with
// few channels in a group. Engines of gradients and of fused passes have numbers of their own.
inline constexpr vendor_limit convolution_engine_71{
    .name = "dnn.convolution_engine_71",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "a forward convolution without a fused pass has no plan with engine 71; where no other is "
        "proposed, operands are copied to another layout, or to f32",
    .evidence =
        "it stores 16 bytes at once where rows have 12, a misaligned address, for bf16 and f16, "
        "the image [2, 6, 5], the filter [12, 2, 4], 3 groups, stride 2 and padding 2, summed in "
        "f32: 9.14, H100, 2026-11-27",
    .test = "DnnConvolution.TakesGroupsOfFewNarrowChannels"};
[[nodiscard]] inline bool accepts_engine_71(cuda::graphs::convolution::kind way) noexcept {
  return way != cuda::graphs::convolution::kind::forward || is_lifted<convolution_engine_71>();
}

inline constexpr vendor_limit convolution_i8_sums{
    .name = "dnn.convolution_i8_sums",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "integers are convolved as f64",
    .evidence =
        "engines for i8 stored i32 wrongly, f32 and i8 rightly as far as was tried: 9.14, "
        "H100, 2026-11-25",
    .test = "DnnConvolution.AddsIntegersExactly",
    .can_be_lifted = false};

inline constexpr vendor_limit fusion_types{
    .name = "dnn.fusion_types",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "the pass after a convolution's sums is fused for types of at most 16 bits",
    .evidence = "engines for it faulted in f32: 9.14, H100, 2026-11-25",
    .test = "*DnnConvolutionActivations.*/f32"};
inline constexpr vendor_limit fusion_in_place{
    .name = "dnn.fusion_in_place",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "the pass is fused where z is not the result itself",
    .evidence =
        "not known whether an element is read before others are written; some results were "
        "wrong: 9.14, H100, 2026-11-25",
    .test = "*DnnConvolutionActivations.*/f16"};
inline constexpr vendor_limit fusion_clipped_relu{
    .name = "dnn.fusion_clipped_relu",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "clipped_relu is fused where neither alpha nor z comes before it",
    .evidence = "engines faulted in f16 and bf16: 9.14, H100, 2026-11-25",
    .test = "*DnnConvolutionActivations.*/f16"};
inline constexpr vendor_limit fusion_channels{
    .name = "dnn.fusion_channels",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "the pass is fused for one group whose channels fill 16 bytes, before and behind",
    .evidence = "wrong results for others: 9.14, H100, 2026-11-25",
    .test = "*DnnConvolutionOf.Random*/forward_f16"};
/// True if cuDNN may apply the epilogue of a forward convolution itself.
[[nodiscard]] bool accepts_fusion(const dnn::convolution& c, const dnn::epilogue& follows) noexcept;

inline constexpr vendor_limit graph_rows{
    .name = "dnn.graph_rows",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "operands of a graph, and their rows, begin at multiples of 16 bytes",
    .evidence = "results were NaN for others: 9.14, H100, 2026-11-25",
    .test = "DnnGraph.OfRandomNodes*"};
inline constexpr vendor_limit graph_order{
    .name = "dnn.graph_order",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "operands of a graph with a convolution have the channels last; of those with a "
        "product one of the last two extents is contiguous",
    .evidence = "wrong results for other convolutions: 9.14, H100, 2026-11-25",
    .test = "DnnGraph.ConvolvesImagesWithTheChannelsFirst"};
[[nodiscard]] bool accepts_in_graph(const any_tensor& t, bool with_convolution) noexcept;

inline constexpr vendor_limit attention_types{
    .name = "dnn.attention_types",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "attention is of f16, bf16 or e4m3; see attention_limits",
    .evidence = "faults and wrong results in f32: 9.14, H100, 2026-11-25",
    .test = "DnnAttentionForward.IsTheDefinitionsForEveryType*",
    .can_be_lifted = false};
inline constexpr vendor_limit attention_e4m3_packed{
    .name = "dnn.attention_e4m3_packed",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "attention of e4m3 has no packed sequences; see attention_limits",
    .evidence = "some faulted: 9.14, H100, 2026-11-25",
    .test = "DnnAttentionForward.OfE4m3IsTheDefinitionsForEveryOption",
    .can_be_lifted = false};

inline constexpr vendor_limit attention_rows{
    .name = "dnn.attention_rows",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "rows of queries, keys, values and results are contiguous, of a multiple of 8 "
        "elements, and begin at multiples of 16 bytes",
    .evidence = "rules of cudnn-frontend 1.18",
    .test = "DnnAttentionForward.IsTheDefinitionsForEveryType*",
    .can_be_lifted = false};
inline constexpr std::int64_t attention_row_unit = 8;
/// Rows that are contiguous, at multiples of 16 bytes.
[[nodiscard]] bool has_aligned_rows(const any_tensor& t) noexcept;
[[nodiscard]] inline bool accepts_rows(const any_tensor& t) noexcept {
  return t.extent(t.rank() - 1) % attention_row_unit == 0 && has_aligned_rows(t);
}

inline constexpr vendor_limit attention_lengths{
    .name = "dnn.attention_lengths",
    .library = "cuDNN",
    .from = "9.14",
    .condition =
        "sequences with lengths are described as packed ones, whether they are or not; "
        "pages are not affected",
    .evidence = "numbers beyond the lengths came into results: 9.14, H100, 2026-11-25",
    .test = "DnnAttentionForward.IsTheDefinitionsForRandom*"};
[[nodiscard]] inline bool accepts_lengths_without_offsets() noexcept {
  return is_lifted<attention_lengths>();
}

inline constexpr vendor_limit attention_statistics{
    .name = "dnn.attention_statistics",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "statistics have no gaps",
    .evidence =
        "those of packed queries were written as if their batches had none: 9.14, H100, "
        "2026-11-25",
    .test = "DnnAttentionForward.IsTheDefinitionsForRandom*"};
[[nodiscard]] inline bool accepts_statistics(const any_tensor& t) noexcept {
  return t.packed() || is_lifted<attention_statistics>();
}

inline constexpr vendor_limit attention_bias_of_heads{
    .name = "dnn.attention_bias_of_heads",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "a bias of one score for each head has no gaps",
    .evidence = "heads were read as if they had none: 9.14, H100, 2026-11-25",
    .test = "DnnAttentionForward.IsTheDefinitionsForEveryOption"};
inline constexpr vendor_limit attention_bias_rows{
    .name = "dnn.attention_bias_rows",
    .library = "cuDNN",
    .from = "9.14",
    .condition = "rows of a bias whose length is a multiple of 8 begin at multiples of 16 bytes",
    .evidence =
        "they are read eight elements at a time: a misaligned address for rows that are 22 "
        "elements apart: 9.14, H100, 2026-11-25",
    .test = "DnnAttentionForward.IsTheDefinitionsForRandom*"};
[[nodiscard]] bool accepts_bias(const any_tensor& t) noexcept;

inline constexpr vendor_limit rnn_small{
    .name = "dnn.rnn_small",
    .library = "cuDNN",
    .from = "9",
    .condition =
        "PERSIST_STATIC_SMALL_H is for f32 and f16, whole sequences without projection, "
        "and at most 256 units of one gate or 128 of more",
    .evidence = "cuDNN documentation, of training; bf16 has no kernels of its own for it",
    .test = "DnnRnn.IsTheDefinitionOnBothSidesOfWhatIsSmall",
    .can_be_lifted = false};
[[nodiscard]] inline bool has_small_rnn(std::int64_t gates, std::int64_t hidden,
                                        std::int64_t projection, dtype type) noexcept {
  return hidden <= (gates == 1 ? 256 : 128) && (type == dtype::f32 || type == dtype::f16) &&
         projection == 0;
}

inline constexpr std::array all{
    convolution_order,     convolution_alignment,   convolution_padding, convolution_heuristics,
    convolution_engine_71, convolution_i8_sums,     fusion_types,        fusion_in_place,
    fusion_clipped_relu,   fusion_channels,         graph_rows,          graph_order,
    attention_types,       attention_e4m3_packed,   attention_rows,      attention_lengths,
    attention_statistics,  attention_bias_of_heads, attention_bias_rows, rnn_small};
/// A part of the key of each plan, so that no plan is found that was made within other limits. It
/// has 23 bits and leaves the rest of a word to others.
inline constexpr std::int64_t key_of_plans = static_cast<std::int64_t>(fingerprint(all) >> 41);

}  // namespace troupe::limits::cudnn
