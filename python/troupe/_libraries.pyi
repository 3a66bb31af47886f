# Made by `./dev python --write` from the requests' descriptions.
from collections.abc import Sequence
from typing import Any, Literal

from ._core import Function, Future, Library, TensorLike, Tensor, _Traceable

class Blas(Library):
    def asum(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The sum of magnitudes Σ|Re xᵢ| + |Im xᵢ|."""
    def axpby(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds multiples of two vectors: y = alpha · x + beta · y."""
    def axpy(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        alpha: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a multiple of a vector to another: y = alpha · x + y."""
    def copy(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        reversed: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Copies a vector: y = x, or, `reversed`, yᵢ = xₙ₋₁₋ᵢ."""
    def dgmm(
        self,
        a: TensorLike,
        x: TensorLike,
        c: TensorLike | None = ...,
        *,
        side: Literal['left', 'right'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies by a diagonal matrix: c = a · diag(x), or c = diag(x) · a."""
    def dot(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The inner product of two real vectors: Σ xᵢ · yᵢ; 0 for length 0."""
    def dotc(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The inner product of two complex vectors, the first conjugated: Σ conj(xᵢ) · yᵢ."""
    def dotu(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The product of two complex vectors, none conjugated: Σ xᵢ · yᵢ."""
    def dsdot(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The inner product of two vectors of f32, accumulated and answered in f64; 0 for length 0."""
    def gbmv(
        self,
        ab: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        kl: int = ...,
        ku: int = ...,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a general band matrix and a vector: y = alpha · op_a(a) · x + beta · y."""
    def geam(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds two matrices: c = alpha · op_a(a) + beta · op_b(b)."""
    def gemm(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies two matrices: c = alpha · op_a(a) · op_b(b) + beta · c."""
    def gemm_batched(
        self,
        a: Sequence[TensorLike],
        b: Sequence[TensorLike],
        c: Sequence[TensorLike],
        *,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Multiplies matrices that lie anywhere: cᵢ = alpha · op_a(aᵢ) · op_b(bᵢ) + beta · cᵢ."""
    def gemm_grouped(
        self,
        a: Sequence[TensorLike],
        b: Sequence[TensorLike],
        c: Sequence[TensorLike],
        *,
        alpha: Sequence[complex] = ...,
        beta: Sequence[complex] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Multiplies matrices of different sizes: cᵢ = alphaᵢ · op_a(aᵢ) · op_b(bᵢ) + betaᵢ · cᵢ."""
    def gemm_strided_batched(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies matrices that lie at constant distances: cᵢ = alpha · op_a(aᵢ) · op_b(bᵢ) + beta · cᵢ."""
    def gemmt(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies two matrices into one triangle: c = alpha · op_a(a) · op_b(b) + beta · c."""
    def gemv(
        self,
        a: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a matrix and a vector: y = alpha · op_a(a) · x + beta · y."""
    def gemv_batched(
        self,
        a: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies matrices and vectors: yᵢ = alpha · op_a(aᵢ) · xᵢ + beta · yᵢ."""
    def geqrf_batched(
        self,
        a: TensorLike,
        tau: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Factors matrices in place: aᵢ = Qᵢ · Rᵢ, Q as Householder reflectors."""
    def ger(
        self,
        x: TensorLike,
        y: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a product of two real vectors to a matrix: a = alpha · x · yᵀ + a."""
    def gerc(
        self,
        x: TensorLike,
        y: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a product of two complex vectors to a matrix: a = alpha · x · yᴴ + a."""
    def geru(
        self,
        x: TensorLike,
        y: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a product of two complex vectors to a matrix: a = alpha · x · yᵀ + a."""
    def getrf_batched(
        self,
        a: TensorLike,
        pivots: TensorLike | None = ...,
        info: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor, Tensor]]:
        """Factors square matrices in place: aᵢ = Pᵢ · Lᵢ · Uᵢ, with partial pivoting."""
    def getri_batched(
        self,
        a: TensorLike,
        pivots: TensorLike,
        c: TensorLike | None = ...,
        info: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Inverts matrices from their factors of `getrf_batched`: cᵢ = aᵢ⁻¹."""
    def getrs_batched(
        self,
        a: TensorLike,
        pivots: TensorLike,
        b: TensorLike,
        *,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with factors from `getrf_batched`: op_a(aᵢ) · xᵢ = bᵢ."""
    def hbmv(
        self,
        ab: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a Hermitian band matrix and a vector: y = alpha · a · x + beta · y."""
    def hemm(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        side: Literal['left', 'right'] = ...,
        uplo: Literal['upper', 'lower'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies by a Hermitian matrix: c = alpha · a · b + beta · c (left), or alpha · b · a + beta · c."""
    def hemv(
        self,
        a: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a Hermitian matrix and a vector: y = alpha · a · x + beta · y."""
    def her(
        self,
        x: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a Hermitian product of a vector with itself: a = alpha · x · xᴴ + a."""
    def her2(
        self,
        x: TensorLike,
        y: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a Hermitian product of two vectors: a = alpha · x · yᴴ + conj(alpha) · y · xᴴ + a."""
    def her2k(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        op_ab: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a Hermitian product of two matrices: c = alpha · op_ab(a) · op_ab(b)ᴴ + conj(alpha) · op_ab(b) · op_ab(a)ᴴ + beta · c."""
    def herk(
        self,
        a: TensorLike,
        c: TensorLike,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a Hermitian product of a matrix with itself: c = alpha · op_a(a) · op_a(a)ᴴ + beta · c."""
    def hpmv(
        self,
        ap: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a Hermitian matrix and a vector: y = alpha · a · x + beta · y."""
    def hpr(
        self,
        x: TensorLike,
        ap: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a Hermitian product of a vector with itself: a = alpha · x · xᴴ + a."""
    def hpr2(
        self,
        x: TensorLike,
        y: TensorLike,
        ap: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a Hermitian product of two vectors: a = alpha · x · yᴴ + conj(alpha) · y · xᴴ + a."""
    def iamax(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """The index, from 0, of the first element with the largest |Re xᵢ| + |Im xᵢ|; −1 for length 0."""
    def iamin(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """The index, from 0, of the first element with the smallest |Re xᵢ| + |Im xᵢ|; −1 for length 0."""
    def nrm2(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The Euclidean norm √Σ|xᵢ|², without overflow or underflow on the way."""
    def rot(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        c: complex = ...,
        s: complex = ...,
        c_at: TensorLike | None = ...,
        s_at: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Applies a plane rotation to two vectors: x, y = c · x + s · y, c · y − conj(s) · x."""
    def rotg(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        s: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Generates a plane rotation: c and s with c · a + s · b = r and c · b − conj(s) · a = 0."""
    def rotm(
        self,
        x: TensorLike,
        y: TensorLike,
        param: TensorLike,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Applies a modified plane rotation to two vectors: [x; y] = H · [x; y]."""
    def rotmg(
        self,
        d1: TensorLike,
        d2: TensorLike,
        x1: TensorLike,
        y1: TensorLike,
        param: TensorLike,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Generates the modified plane rotation that makes the second component of [√d1 · x1; √d2 · y1] zero."""
    def sbmv(
        self,
        ab: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a symmetric band matrix and a vector: y = alpha · a · x + beta · y."""
    def scal(
        self,
        x: TensorLike,
        *,
        alpha: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a vector by a factor: x = alpha · x."""
    def sdsdot(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        alpha: complex = ...,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The inner product of two vectors of f32 and a number, alpha + Σ xᵢ · yᵢ, accumulated in f64 and rounded to f32."""
    def spmv(
        self,
        ap: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a symmetric matrix and a vector: y = alpha · a · x + beta · y."""
    def spr(
        self,
        x: TensorLike,
        ap: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a symmetric product of a vector with itself: a = alpha · x · xᵀ + a."""
    def spr2(
        self,
        x: TensorLike,
        y: TensorLike,
        ap: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a symmetric product of two vectors: a = alpha · x · yᵀ + alpha · y · xᵀ + a."""
    def swap(
        self,
        x: TensorLike,
        y: TensorLike,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Exchanges two vectors."""
    def symm(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        side: Literal['left', 'right'] = ...,
        uplo: Literal['upper', 'lower'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies by a symmetric matrix: c = alpha · a · b + beta · c (left), or alpha · b · a + beta · c."""
    def symv(
        self,
        a: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a symmetric matrix and a vector: y = alpha · a · x + beta · y."""
    def syr(
        self,
        x: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a symmetric product of a vector with itself: a = alpha · x · xᵀ + a."""
    def syr2(
        self,
        x: TensorLike,
        y: TensorLike,
        a: TensorLike,
        *,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a symmetric product of two vectors: a = alpha · x · yᵀ + alpha · y · xᵀ + a."""
    def syr2k(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a symmetric product of two matrices: c = alpha · a · bᵀ + alpha · b · aᵀ + beta · c."""
    def syrk(
        self,
        a: TensorLike,
        c: TensorLike,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a symmetric product of a matrix with itself: c = alpha · a · aᵀ + beta · c."""
    def tbmv(
        self,
        ab: TensorLike,
        x: TensorLike,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a vector by a triangular band matrix: x = op_a(a) · x."""
    def tbsv(
        self,
        ab: TensorLike,
        x: TensorLike,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves a triangular band system: x = op_a(a)⁻¹ · x."""
    def tpmv(
        self,
        ap: TensorLike,
        x: TensorLike,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a vector by a triangular matrix: x = op_a(a) · x."""
    def tpsv(
        self,
        ap: TensorLike,
        x: TensorLike,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves a triangular system: x = op_a(a)⁻¹ · x."""
    def trmm(
        self,
        a: TensorLike,
        b: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        side: Literal['left', 'right'] = ...,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies by a triangular matrix: b = alpha · op_a(a) · b (left), or alpha · b · op_a(a) (right)."""
    def trmv(
        self,
        a: TensorLike,
        x: TensorLike,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a vector by a triangular matrix: x = op_a(a) · x."""
    def trsm(
        self,
        a: TensorLike,
        b: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        side: Literal['left', 'right'] = ...,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves triangular systems: op_a(a) · x = alpha · b (left), or x · op_a(a) = alpha · b (right)."""
    def trsm_batched(
        self,
        a: TensorLike,
        b: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        side: Literal['left', 'right'] = ...,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        deterministic: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves triangular systems: op_a(aᵢ) · xᵢ = alpha · bᵢ (left), or xᵢ · op_a(aᵢ) = alpha · bᵢ."""
    def trsv(
        self,
        a: TensorLike,
        x: TensorLike,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves a triangular system: x = op_a(a)⁻¹ · x."""

class Blaslt(Library):
    def matmul(
        self,
        a: TensorLike,
        b: TensorLike,
        d: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        epilogue: Literal['none', 'relu', 'gelu', 'bias', 'relu_bias', 'gelu_bias', 'relu_aux', 'gelu_aux', 'relu_aux_bias', 'gelu_aux_bias', 'drelu', 'dgelu', 'drelu_bgrad', 'dgelu_bgrad', 'bgrad_a', 'bgrad_b'] = ...,
        c: TensorLike | None = ...,
        op_a: Literal['none', 'conjugate'] = ...,
        op_b: Literal['none', 'conjugate'] = ...,
        bias: TensorLike | None = ...,
        aux: TensorLike | None = ...,
        bgrad: TensorLike | None = ...,
        scale_a: TensorLike | None = ...,
        scale_b: TensorLike | None = ...,
        scale_c: TensorLike | None = ...,
        scale_d: TensorLike | None = ...,
        scaling_a: Literal['tensor', 'outer_vector', 'block_128', 'block_128x128'] = ...,
        scaling_b: Literal['tensor', 'outer_vector', 'block_128', 'block_128x128'] = ...,
        amax_d: TensorLike | None = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        fast_accumulation: bool = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        candidates: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Multiplies two matrices and applies an epilogue: d = epilogue(alpha · op_a(a) · op_b(b) + beta · c)."""

class Collective(Library):
    def all_gather(
        self,
        x: Sequence[TensorLike | None],
        y: Sequence[TensorLike | None] | None = ...,
    ) -> Future[list[Tensor]]:
        """Gives each rank the tensors of all ranks, one after the other."""
    def all_reduce(
        self,
        x: Sequence[TensorLike | None],
        y: Sequence[TensorLike | None] | None = ...,
        *,
        op: Literal['sum', 'prod', 'min', 'max', 'avg'] = ...,
        factor: float = ...,
        factors: Sequence[TensorLike | None] | None = ...,
    ) -> Future[list[Tensor]]:
        """Combines the tensors of all ranks, for each of them: y[r] = x[0] ∘ … ∘ x[n − 1]."""
    def all_to_all(
        self,
        x: Sequence[TensorLike | None],
        y: Sequence[TensorLike | None] | None = ...,
    ) -> Future[list[Tensor]]:
        """Gives each rank its part of every rank's tensor."""
    def all_to_allv(
        self,
        x: Sequence[TensorLike | None],
        y: Sequence[TensorLike | None] | None = ...,
        *,
        counts: Sequence[int] = ...,
    ) -> Future[list[Tensor]]:
        """Gives each rank its part of every rank's tensor, of any length."""
    def barrier(
        self,
    ) -> Future[None]:
        """Ends when all ranks have begun it."""
    def broadcast(
        self,
        y: Sequence[TensorLike | None] | None = ...,
        *,
        x: Sequence[TensorLike | None] | None = ...,
        root: int = ...,
    ) -> Future[list[Tensor]]:
        """Copies the tensor of one rank to all ranks: y[r] = x[root]."""
    def connect(
        self,
    ) -> Future[None]:
        """Begins to connect the ranks by NCCL, in the background."""
    def exchange(
        self,
        *,
        x: Sequence[TensorLike | None] | None = ...,
        y: Sequence[TensorLike | None] | None = ...,
    ) -> Future[list[Tensor]]:
        """Copies tensors between ranks, any set of copies: each is an item."""
    def gather(
        self,
        x: Sequence[TensorLike | None],
        *,
        y: Sequence[TensorLike | None] | None = ...,
        root: int = ...,
    ) -> Future[list[Tensor]]:
        """Gives one rank the tensors of all ranks, one after the other."""
    def reduce(
        self,
        x: Sequence[TensorLike | None],
        *,
        y: Sequence[TensorLike | None] | None = ...,
        op: Literal['sum', 'prod', 'min', 'max', 'avg'] = ...,
        factor: float = ...,
        factors: Sequence[TensorLike | None] | None = ...,
        root: int = ...,
    ) -> Future[list[Tensor]]:
        """Combines the tensors of all ranks, for one of them: y[root] = x[0] ∘ … ∘ x[n − 1]."""
    def reduce_scatter(
        self,
        x: Sequence[TensorLike | None],
        y: Sequence[TensorLike | None] | None = ...,
        *,
        op: Literal['sum', 'prod', 'min', 'max', 'avg'] = ...,
        factor: float = ...,
        factors: Sequence[TensorLike | None] | None = ...,
    ) -> Future[list[Tensor]]:
        """Combines the tensors of all ranks, and gives each rank its part of the result."""
    def scatter(
        self,
        y: Sequence[TensorLike | None] | None = ...,
        *,
        x: Sequence[TensorLike | None] | None = ...,
        root: int = ...,
    ) -> Future[list[Tensor]]:
        """Gives each rank its part of one rank's tensor."""

class Dnn(Library):
    def adaptive_average_pool_backward(
        self,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of adaptive_average_pool_forward by its images."""
    def adaptive_average_pool_forward(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The average over windows that divide the image into as many as y has elements."""
    def adaptive_max_pool_backward(
        self,
        dy: TensorLike,
        places: TensorLike,
        dx: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of adaptive_max_pool_forward by its images."""
    def adaptive_max_pool_forward(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        places: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The largest element of windows that divide the image into as many as y has elements."""
    def attention_backward(
        self,
        q: TensorLike,
        k: TensorLike,
        v: TensorLike,
        o: TensorLike,
        dout: TensorLike,
        statistics: TensorLike,
        dq: TensorLike | None = ...,
        dk: TensorLike | None = ...,
        dv: TensorLike | None = ...,
        *,
        scale: float = ...,
        mask_diagonal: Literal['top_left', 'bottom_right'] = ...,
        mask_left: int = ...,
        mask_right: int = ...,
        mask_lengths_q: TensorLike | None = ...,
        mask_lengths_kv: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        dbias: TensorLike | None = ...,
        alibi: bool = ...,
        dropout_probability: float = ...,
        dropout_seed: int = ...,
        dropout_offset: int = ...,
        packed_offsets_q: TensorLike | None = ...,
        packed_offsets_k: TensorLike | None = ...,
        packed_offsets_v: TensorLike | None = ...,
        packed_offsets_o: TensorLike | None = ...,
        packed_longest_q: int = ...,
        packed_longest_kv: int = ...,
        deterministic: bool = ...,
        mask_allowed: TensorLike | None = ...,
        soft_cap: float = ...,
        sinks: TensorLike | None = ...,
        dsinks: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradients of attention_forward by q, k, v and bias."""
    def attention_forward(
        self,
        q: TensorLike,
        k: TensorLike,
        v: TensorLike,
        o: TensorLike | None = ...,
        *,
        statistics: TensorLike | None = ...,
        scale: float = ...,
        mask_diagonal: Literal['top_left', 'bottom_right'] = ...,
        mask_left: int = ...,
        mask_right: int = ...,
        mask_lengths_q: TensorLike | None = ...,
        mask_lengths_kv: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        all_attend: bool = ...,
        alibi: bool = ...,
        dropout_probability: float = ...,
        dropout_seed: int = ...,
        dropout_offset: int = ...,
        packed_offsets_q: TensorLike | None = ...,
        packed_offsets_k: TensorLike | None = ...,
        packed_offsets_v: TensorLike | None = ...,
        packed_offsets_o: TensorLike | None = ...,
        packed_longest_q: int = ...,
        packed_longest_kv: int = ...,
        pages_k: TensorLike | None = ...,
        pages_v: TensorLike | None = ...,
        fp8_descale_q: TensorLike | None = ...,
        fp8_descale_k: TensorLike | None = ...,
        fp8_descale_v: TensorLike | None = ...,
        fp8_descale_s: TensorLike | None = ...,
        fp8_scale_s: TensorLike | None = ...,
        fp8_scale_o: TensorLike | None = ...,
        fp8_amax_s: TensorLike | None = ...,
        fp8_amax_o: TensorLike | None = ...,
        mask_allowed: TensorLike | None = ...,
        soft_cap: float = ...,
        sinks: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Attention: o = softmax(scale · q · kᵀ + masks) · v."""
    def average_pool_backward(
        self,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        window: Sequence[int] = ...,
        stride: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        ceil_mode: bool = ...,
        count_padding: bool = ...,
        dilation: Sequence[int] = ...,
        divisor: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of average_pool_forward by its images."""
    def average_pool_forward(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        window: Sequence[int] = ...,
        stride: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        ceil_mode: bool = ...,
        count_padding: bool = ...,
        dilation: Sequence[int] = ...,
        divisor: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The average of each window."""
    def batch_norm_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        mean: TensorLike,
        rstd: TensorLike,
        dx: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        dweight: TensorLike | None = ...,
        dbias: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradient of batch_norm_training by x, weight and bias."""
    def batch_norm_inference(
        self,
        x: TensorLike,
        mean: TensorLike,
        variance: TensorLike,
        y: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Normalises each channel by statistics that are given."""
    def batch_norm_training(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        mean: TensorLike | None = ...,
        rstd: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        running_mean: TensorLike | None = ...,
        running_variance: TensorLike | None = ...,
        momentum: float = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Normalises each channel over images and space, and updates running statistics."""
    def convolution_backward_data(
        self,
        dy: TensorLike,
        w: TensorLike,
        dx: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        stride: Sequence[int] = ...,
        dilation: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        groups: int = ...,
        math: Literal['strict', 'tf32'] = ...,
        deterministic: bool = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of a convolution by its images: dx = alpha · Σ dy · w + beta · dx."""
    def convolution_backward_filter(
        self,
        x: TensorLike,
        dy: TensorLike,
        dw: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        stride: Sequence[int] = ...,
        dilation: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        groups: int = ...,
        math: Literal['strict', 'tf32'] = ...,
        deterministic: bool = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of a convolution by its filter: dw = alpha · Σ dy · x + beta · dw."""
    def convolution_forward(
        self,
        x: TensorLike,
        w: TensorLike,
        y: TensorLike | None = ...,
        *,
        z: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        activation: Literal['none', 'relu', 'clipped_relu', 'leaky_relu', 'elu', 'gelu', 'gelu_tanh', 'silu', 'sigmoid', 'tanh', 'softplus'] = ...,
        upper: float = ...,
        slope: float = ...,
        elu_alpha: float = ...,
        stride: Sequence[int] = ...,
        dilation: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        groups: int = ...,
        math: Literal['strict', 'tf32'] = ...,
        deterministic: bool = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Convolves images with a filter: y = activation(alpha · (x ∗ w) + beta · z + bias)."""
    def convolution_transposed(
        self,
        x: TensorLike,
        w: TensorLike,
        y: TensorLike | None = ...,
        *,
        z: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        activation: Literal['none', 'relu', 'clipped_relu', 'leaky_relu', 'elu', 'gelu', 'gelu_tanh', 'silu', 'sigmoid', 'tanh', 'softplus'] = ...,
        upper: float = ...,
        slope: float = ...,
        elu_alpha: float = ...,
        stride: Sequence[int] = ...,
        dilation: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        output_padding: Sequence[int] = ...,
        groups: int = ...,
        math: Literal['strict', 'tf32'] = ...,
        deterministic: bool = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The transposed convolution, which makes images larger: y = activation(alpha · Σ x · w + beta · z + bias)."""
    def graph(
        self,
        inputs: Sequence[TensorLike],
        outputs: Sequence[TensorLike],
        *,
        what_computation: Sequence[int] = ...,
        what_constants: Sequence[complex] = ...,
        intermediate: Literal['f32', 'f16', 'bf16'] = ...,
        math: Literal['strict', 'tf32'] = ...,
        engine: Literal['automatic', 'pieces', 'plan'] = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Computes a part of a network that the caller has written: outputs = what(inputs)."""
    def kv_append(
        self,
        k: TensorLike,
        v: TensorLike,
        rows_k: Sequence[TensorLike],
        rows_v: Sequence[TensorLike],
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Copies keys and values of new tokens into rows of pages."""
    def lrn_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        size: int = ...,
        alpha: float = ...,
        beta: float = ...,
        k: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of lrn_forward."""
    def lrn_forward(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        size: int = ...,
        alpha: float = ...,
        beta: float = ...,
        k: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Local response normalisation across channels."""
    def max_pool_backward(
        self,
        dy: TensorLike,
        places: TensorLike,
        dx: TensorLike | None = ...,
        *,
        window: Sequence[int] = ...,
        stride: Sequence[int] = ...,
        dilation: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        ceil_mode: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of max_pool_forward by its images."""
    def max_pool_forward(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        places: TensorLike | None = ...,
        window: Sequence[int] = ...,
        stride: Sequence[int] = ...,
        dilation: Sequence[int] = ...,
        padding: Sequence[int] = ...,
        post_padding: Sequence[int] = ...,
        ceil_mode: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The largest element of each window."""
    def plans(
        self,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Asks how the worker in service came by its compiled plans; on the CPU it has none."""
    def resample_backward(
        self,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        interpolation: Literal['nearest', 'linear', 'linear_corners', 'nearest_floor', 'cubic', 'cubic_corners', 'area'] = ...,
        scale: Sequence[complex] = ...,
        antialias: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of resample_forward by its images."""
    def resample_forward(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        interpolation: Literal['nearest', 'linear', 'linear_corners', 'nearest_floor', 'cubic', 'cubic_corners', 'area'] = ...,
        scale: Sequence[complex] = ...,
        antialias: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Interpolates images at other extents."""
    def rnn_backward_data(
        self,
        weights: TensorLike,
        y: TensorLike,
        dy: TensorLike,
        reserve: TensorLike,
        dx: TensorLike | None = ...,
        *,
        h_0: TensorLike | None = ...,
        c_0: TensorLike | None = ...,
        dh_n: TensorLike | None = ...,
        dc_n: TensorLike | None = ...,
        dh_0: TensorLike | None = ...,
        dc_0: TensorLike | None = ...,
        network_cell: Literal['relu', 'tanh', 'lstm', 'gru'] = ...,
        network_hidden: int = ...,
        network_layers: int = ...,
        network_bidirectional: bool = ...,
        network_projection: int = ...,
        network_dropout: float = ...,
        network_seed: int = ...,
        network_offset: int = ...,
        network_math: Literal['strict', 'tf32'] = ...,
        network_linear_before_reset: bool = ...,
        lengths: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradients of rnn_forward by x and by the first states."""
    def rnn_backward_weights(
        self,
        x: TensorLike,
        y: TensorLike,
        reserve: TensorLike,
        dweights: TensorLike | None = ...,
        *,
        h_0: TensorLike | None = ...,
        network_cell: Literal['relu', 'tanh', 'lstm', 'gru'] = ...,
        network_hidden: int = ...,
        network_layers: int = ...,
        network_bidirectional: bool = ...,
        network_projection: int = ...,
        network_dropout: float = ...,
        network_seed: int = ...,
        network_offset: int = ...,
        network_math: Literal['strict', 'tf32'] = ...,
        network_linear_before_reset: bool = ...,
        lengths: Sequence[int] = ...,
        accumulate: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of rnn_forward by the weights."""
    def rnn_forward(
        self,
        x: TensorLike,
        weights: TensorLike,
        y: TensorLike | None = ...,
        *,
        h_0: TensorLike | None = ...,
        c_0: TensorLike | None = ...,
        h_n: TensorLike | None = ...,
        c_n: TensorLike | None = ...,
        reserve: TensorLike | None = ...,
        network_cell: Literal['relu', 'tanh', 'lstm', 'gru'] = ...,
        network_hidden: int = ...,
        network_layers: int = ...,
        network_bidirectional: bool = ...,
        network_projection: int = ...,
        network_dropout: float = ...,
        network_seed: int = ...,
        network_offset: int = ...,
        network_math: Literal['strict', 'tf32'] = ...,
        network_linear_before_reset: bool = ...,
        lengths: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Runs a recurrent network over sequences."""
    def rnn_sizes(
        self,
        *,
        network_cell: Literal['relu', 'tanh', 'lstm', 'gru'] = ...,
        network_hidden: int = ...,
        network_layers: int = ...,
        network_bidirectional: bool = ...,
        network_projection: int = ...,
        network_dropout: float = ...,
        network_seed: int = ...,
        network_offset: int = ...,
        network_math: Literal['strict', 'tf32'] = ...,
        network_linear_before_reset: bool = ...,
        type: Literal['f64', 'f32', 'f16', 'bf16', 'e4m3', 'e5m2', 'c64', 'c128', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', 'boolean'] = ...,
        steps: int = ...,
        batch: int = ...,
        input: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Asks how large a recurrent network's weights and reserve are on this device."""
    def sample_rows(
        self,
        x: TensorLike,
        tokens: TensorLike | None = ...,
        *,
        logprobs: TensorLike | None = ...,
        temperature: TensorLike | None = ...,
        top_k: TensorLike | None = ...,
        top_p: TensorLike | None = ...,
        min_p: TensorLike | None = ...,
        seeds: TensorLike | None = ...,
        positions: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Draws a token from each row of logits."""

class Elementwise(Library):
    def activation(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        kind: Literal['relu', 'leaky_relu', 'elu', 'gelu', 'gelu_tanh', 'silu', 'sigmoid', 'tanh', 'softplus', 'mish'] = ...,
        alpha: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Applies an activation: y = kind(x)."""
    def activation_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        kind: Literal['relu', 'leaky_relu', 'elu', 'gelu', 'gelu_tanh', 'silu', 'sigmoid', 'tanh', 'softplus', 'mish'] = ...,
        alpha: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of activation: dx = dy · kind'(x)."""
    def adamw(
        self,
        parameters: Sequence[TensorLike],
        gradients: Sequence[TensorLike],
        first_moments: Sequence[TensorLike],
        second_moments: Sequence[TensorLike],
        *,
        learning_rate: float = ...,
        beta1: float = ...,
        beta2: float = ...,
        eps: float = ...,
        weight_decay: float = ...,
        step: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """One step of AdamW for each parameter of a list."""
    def arange(
        self,
        y: TensorLike | None = ...,
        *,
        start: complex = ...,
        step: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes an arithmetic progression: y[i] = start + i · step."""
    def bias_add(
        self,
        x: TensorLike,
        bias: TensorLike,
        y: TensorLike | None = ...,
        *,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a vector along an axis: y = x + bias."""
    def bias_add_backward(
        self,
        dy: TensorLike,
        dbias: TensorLike | None = ...,
        *,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of bias_add by bias: dbias = Σ dy over all other axes."""
    def clamp(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        low: complex = ...,
        high: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Limits elements to an interval: y = min(max(x, low), high)."""
    def compare(
        self,
        a: TensorLike,
        b: TensorLike,
        y: TensorLike | None = ...,
        *,
        how: Literal['equal', 'not_equal', 'less', 'less_equal', 'greater', 'greater_equal'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Compares two tensors element by element."""
    def cross_entropy(
        self,
        logits: TensorLike,
        targets: TensorLike,
        loss: TensorLike | None = ...,
        *,
        label_smoothing: float = ...,
        ignore_index: int = ...,
        weights: TensorLike | None = ...,
        total: TensorLike | None = ...,
        mean: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Cross entropy of the softmax of logits with target classes."""
    def cross_entropy_backward(
        self,
        logits: TensorLike,
        targets: TensorLike,
        dloss: TensorLike,
        dlogits: TensorLike | None = ...,
        *,
        label_smoothing: float = ...,
        ignore_index: int = ...,
        weights: TensorLike | None = ...,
        total: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of cross_entropy by logits."""
    def cumulate(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        axis: int = ...,
        how: Literal['sum', 'product', 'prod'] = ...,
        exclusive: bool = ...,
        reverse: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Running sums or products along an axis: y[i] = x[0] + … + x[i]."""
    def dropout(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        p: float = ...,
        seed: int = ...,
        offset: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Sets elements to 0 with probability p, and divides the others by 1 − p."""
    def gather_rows(
        self,
        table: TensorLike,
        indices: TensorLike,
        y: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Copies rows of a table by their numbers: y[k, j] = table[indices[k], j]."""
    def gather_rows_backward(
        self,
        dy: TensorLike,
        indices: TensorLike,
        dtable: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of gather_rows by table: adds rows by their numbers."""
    def group_norm(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        mean: TensorLike | None = ...,
        rstd: TensorLike | None = ...,
        eps: float = ...,
        groups: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Normalises each group of channels: y = (x − mean) · rstd · weight + bias."""
    def group_norm_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        mean: TensorLike,
        rstd: TensorLike,
        dx: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        dweight: TensorLike | None = ...,
        dbias: TensorLike | None = ...,
        groups: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradient of group_norm by x, weight and bias."""
    def instance_norm(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        mean: TensorLike | None = ...,
        rstd: TensorLike | None = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Normalises each channel: y = (x − mean) · rstd · weight + bias."""
    def instance_norm_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        mean: TensorLike,
        rstd: TensorLike,
        dx: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        dweight: TensorLike | None = ...,
        dbias: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradient of instance_norm by x, weight and bias."""
    def l2_normalize(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        axis: int = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Divides by the Euclidean length along an axis: y = x / max(√Σx², eps)."""
    def l2_normalize_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        axis: int = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of l2_normalize."""
    def layer_norm(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        mean: TensorLike | None = ...,
        rstd: TensorLike | None = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Normalises along the last dimension: y = (x − mean) · rstd · weight + bias."""
    def layer_norm_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        mean: TensorLike,
        rstd: TensorLike,
        dx: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        dweight: TensorLike | None = ...,
        dbias: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradient of layer_norm by x, weight and bias."""
    def log_softmax(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The logarithm of softmax along an axis: y = x − max x − log Σ exp(x − max x)."""
    def log_softmax_backward(
        self,
        y: TensorLike,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of log_softmax: dx = dy − exp(y) · Σ dy."""
    def map(
        self,
        inputs: Sequence[TensorLike],
        outputs: Sequence[TensorLike],
        *,
        what: Function | _Traceable | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Applies a function to each element: outputs = what(inputs), in one pass over memory."""
    def nll_loss(
        self,
        x: TensorLike,
        targets: TensorLike,
        loss: TensorLike | None = ...,
        *,
        ignore_index: int = ...,
        weights: TensorLike | None = ...,
        total: TensorLike | None = ...,
        mean: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Negative log likelihood of target classes."""
    def nll_loss_backward(
        self,
        targets: TensorLike,
        dloss: TensorLike,
        dx: TensorLike | None = ...,
        *,
        ignore_index: int = ...,
        weights: TensorLike | None = ...,
        total: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of nll_loss by the logarithms of probabilities."""
    def one_hot(
        self,
        indices: TensorLike,
        y: TensorLike | None = ...,
        *,
        on: complex = ...,
        off: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes one number at each index and another one elsewhere."""
    def reduce(
        self,
        inputs: Sequence[TensorLike],
        outputs: Sequence[TensorLike],
        *,
        before: Function | _Traceable | None = ...,
        op: Literal['sum', 'product', 'minimum', 'maximum', 'argmin', 'argmax', 'mean', 'any', 'all', 'max', 'min', 'prod'] = ...,
        after: Function | _Traceable | None = ...,
        axes: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Reduces along axes: outputs = after(op(before(inputs))), in one pass over memory."""
    def residual_add(
        self,
        x: TensorLike,
        residual: TensorLike,
        y: TensorLike | None = ...,
        *,
        scale: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a scaled tensor: y = x + scale · residual."""
    def rms_norm(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        rstd: TensorLike | None = ...,
        eps: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Divides by the root mean square along the last dimension: y = x · rstd · weight."""
    def rms_norm_backward(
        self,
        x: TensorLike,
        dy: TensorLike,
        rstd: TensorLike,
        dx: TensorLike | None = ...,
        *,
        weight: TensorLike | None = ...,
        dweight: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The gradient of rms_norm by x and weight."""
    def rotary_embedding(
        self,
        x: TensorLike,
        cos: TensorLike,
        sin: TensorLike,
        y: TensorLike | None = ...,
        *,
        pairs: Literal['halves', 'interleaved'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Rotates pairs of elements by an angle for each position."""
    def rotary_embedding_backward(
        self,
        dy: TensorLike,
        cos: TensorLike,
        sin: TensorLike,
        dx: TensorLike | None = ...,
        *,
        pairs: Literal['halves', 'interleaved'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of rotary_embedding: rotates by the opposite angles."""
    def rows(
        self,
        inputs: Sequence[TensorLike],
        outputs: Sequence[TensorLike],
        *,
        what: Function | _Traceable | None = ...,
        axes: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Applies a function with row operations to each row: softmax, norms, reductions."""
    def scatter_rows(
        self,
        x: TensorLike,
        indices: TensorLike,
        table: TensorLike,
        *,
        mode: Literal['set', 'add'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes rows of a table by their numbers, or adds to them."""
    def sgd(
        self,
        parameters: Sequence[TensorLike],
        gradients: Sequence[TensorLike],
        velocities: Sequence[TensorLike],
        *,
        learning_rate: float = ...,
        momentum: float = ...,
        dampening: float = ...,
        weight_decay: float = ...,
        nesterov: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """One step of stochastic gradient descent for each parameter of a list."""
    def softmax(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Softmax along an axis: y = exp(x − max x) / Σ exp(x − max x)."""
    def softmax_backward(
        self,
        y: TensorLike,
        dy: TensorLike,
        dx: TensorLike | None = ...,
        *,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The gradient of softmax: dx = y · (dy − Σ y · dy)."""
    def where(
        self,
        condition: TensorLike,
        a: TensorLike,
        b: TensorLike,
        y: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Chooses between two tensors: y = a where condition is true, else b."""

class Fault(Library):
    def inject(
        self,
        *,
        what: Literal['segmentation_fault', 'abort', 'exit', 'kill', 'hang', 'out_of_memory', 'exception', 'write_frozen', 'spin', 'trap', 'stack_overflow', 'unmapped_address', 'misaligned_address', 'failed_assertion', 'invalid_launch', 'withdraw'] = ...,
        target: TensorLike | None = ...,
        output: TensorLike | None = ...,
        duration_ns: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Injects a fault into the worker."""
    def spin_until(
        self,
        flag: TensorLike,
        *,
        output: TensorLike | None = ...,
        value: float = ...,
        add: bool = ...,
        at_most_ns: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Keeps its lane busy until the program sets a flag, and writes then."""

class Fft(Library):
    def c2c(
        self,
        in_: TensorLike,
        out: TensorLike | None = ...,
        *,
        rank: int = ...,
        direction: Literal['forward', 'inverse'] = ...,
        scale: Literal['none', 'by_n', 'ortho'] = ...,
        load: Function | _Traceable | None = ...,
        load_operands: Sequence[TensorLike] = ...,
        store: Function | _Traceable | None = ...,
        store_operands: Sequence[TensorLike] = ...,
        precision: Literal['of_operands', 'f32', 'f64'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Transforms complex numbers along the last `rank` dimensions, once for each index of the others."""
    def c2r(
        self,
        in_: TensorLike,
        out: TensorLike | None = ...,
        *,
        rank: int = ...,
        scale: Literal['none', 'by_n', 'ortho'] = ...,
        load: Function | _Traceable | None = ...,
        load_operands: Sequence[TensorLike] = ...,
        store: Function | _Traceable | None = ...,
        store_operands: Sequence[TensorLike] = ...,
        precision: Literal['of_operands', 'f32', 'f64'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Transforms back what r2c makes, inverse, along the last `rank` dimensions."""
    def r2c(
        self,
        in_: TensorLike,
        out: TensorLike | None = ...,
        *,
        rank: int = ...,
        scale: Literal['none', 'by_n', 'ortho'] = ...,
        load: Function | _Traceable | None = ...,
        load_operands: Sequence[TensorLike] = ...,
        store: Function | _Traceable | None = ...,
        store_operands: Sequence[TensorLike] = ...,
        precision: Literal['of_operands', 'f32', 'f64'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Transforms real numbers along the last `rank` dimensions, forward."""

class Graph(Library):
    def info(
        self,
        *,
        label: str = ...,
        digest: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Tells how the worker runs a graph on this lane."""
    def run(
        self,
        definition: TensorLike,
        writes: Sequence[TensorLike],
        updates: Sequence[TensorLike],
        reads: Sequence[TensorLike],
        *,
        label: str = ...,
        digest: Sequence[int] = ...,
        values: Sequence[complex] = ...,
        stepped: bool = ...,
        results: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Runs a recorded list of requests as one."""
    def run_conditional(
        self,
        definition: TensorLike,
        writes: Sequence[TensorLike],
        updates: Sequence[TensorLike],
        reads: Sequence[TensorLike],
        *,
        label: str = ...,
        digest: Sequence[int] = ...,
        values: Sequence[complex] = ...,
        stepped: bool = ...,
        results: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Runs a recorded list of requests as one, and waits for some of them."""

class Jit(Library):
    def attributes(
        self,
        kernel_image: TensorLike,
        *,
        kernel_name: str = ...,
        kernel_digest: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Loads a kernel and returns its properties."""
    def launch(
        self,
        kernel_image: TensorLike,
        arguments_reads: Sequence[TensorLike],
        arguments_writes: Sequence[TensorLike],
        arguments_updates: Sequence[TensorLike],
        *,
        kernel_name: str = ...,
        kernel_digest: Sequence[int] = ...,
        grid_x: int = ...,
        grid_y: int = ...,
        grid_z: int = ...,
        block_x: int = ...,
        block_y: int = ...,
        block_z: int = ...,
        shared_bytes: int = ...,
        cluster_x: int = ...,
        cluster_y: int = ...,
        cluster_z: int = ...,
        cooperative: bool = ...,
        programmatic: bool = ...,
        arguments_codes: Sequence[int] = ...,
        arguments_values: Sequence[int] = ...,
        arguments_tiles: Sequence[int] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Launches a kernel of the user's own."""
    def occupancy(
        self,
        kernel_image: TensorLike,
        *,
        kernel_name: str = ...,
        kernel_digest: Sequence[int] = ...,
        block_x: int = ...,
        block_y: int = ...,
        block_z: int = ...,
        shared_bytes: int = ...,
        cluster_x: int = ...,
        cluster_y: int = ...,
        cluster_z: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Asks how much of a kernel runs at once."""

class Lane(Library):
    def launch(
        self,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Launches a kernel that does nothing, in its lane: the smallest work that a GPU can be given."""
    def mapping(
        self,
        ended: TensorLike,
        begun: TensorLike | None = ...,
        *,
        read: TensorLike | None = ...,
        written: TensorLike | None = ...,
        updated: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Keeps its place in the order for a mapped tensor: signals once every earlier conflicting request has ended, and ends when the program signals."""
    def marker(
        self,
        *,
        after: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Does nothing: it is answered once every earlier request of its lane has been, and every earlier request of any lane that writes `after`."""
    def rest(
        self,
        until: TensorLike,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Keeps its worker from all other requests until the program signals."""

class Memory(Library):
    def convert(
        self,
        from_: TensorLike,
        to: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Copies elements into another element type: to[i] = type_of_to(from[i])."""
    def copy(
        self,
        from_: TensorLike,
        to: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Copies elements: to = from."""
    def fill(
        self,
        to: TensorLike | None = ...,
        *,
        value: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Sets every element to one value: to = value."""
    def set_bytes(
        self,
        to: TensorLike | None = ...,
        *,
        byte: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Sets every byte of every element (memset)."""

class Primitives(Library):
    def argmax(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """The index of the largest element, from 0; a NaN is larger than any number."""
    def argmin(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """The index of the smallest element, from 0; a NaN is smaller than any number."""
    def histogram_even(
        self,
        x: TensorLike,
        counts: TensorLike | None = ...,
        *,
        lower: float = ...,
        upper: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Counts the elements of a vector in bins of equal width."""
    def histogram_range(
        self,
        x: TensorLike,
        edges: TensorLike,
        counts: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Counts the elements of a vector between ascending edges."""
    def partition(
        self,
        x: TensorLike,
        flags: TensorLike,
        y: TensorLike | None = ...,
        *,
        count: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Puts the elements of a vector that are flagged before the others."""
    def reduce(
        self,
        x: TensorLike,
        *,
        result: TensorLike | None = ...,
        op: Literal['sum', 'product', 'minimum', 'maximum', 'max', 'min', 'prod'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Combines all elements of a vector: sum, product, minimum or maximum."""
    def run_length(
        self,
        x: TensorLike,
        values: TensorLike | None = ...,
        lengths: TensorLike | None = ...,
        *,
        count: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Finds the runs of equal elements of a vector, and their lengths."""
    def scan(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        op: Literal['sum', 'product', 'minimum', 'maximum', 'max', 'min', 'prod'] = ...,
        exclusive: bool = ...,
        deterministic: bool = ...,
        axis: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Combines all elements up to each one along an axis: prefix sums, products, running minima or maxima."""
    def segmented_reduce(
        self,
        x: TensorLike,
        offsets: TensorLike,
        y: TensorLike | None = ...,
        *,
        op: Literal['sum', 'product', 'minimum', 'maximum', 'max', 'min', 'prod'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Combines each segment of a vector: sums, products, minima or maxima."""
    def segmented_sort(
        self,
        x: TensorLike,
        offsets: TensorLike,
        y: TensorLike | None = ...,
        *,
        descending: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Sorts each segment of a vector; elements of no segment are copied."""
    def select(
        self,
        x: TensorLike,
        flags: TensorLike,
        y: TensorLike | None = ...,
        *,
        count: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Keeps the elements of a vector that are flagged."""
    def sort(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        descending: bool = ...,
        axis: int = ...,
        indices: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Sorts each row of a tensor along an axis; equal elements keep their order."""
    def sort_pairs(
        self,
        keys: TensorLike,
        values: TensorLike,
        sorted_keys: TensorLike | None = ...,
        sorted_values: TensorLike | None = ...,
        *,
        descending: bool = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Sorts pairs of a key and a value by key; equal keys keep their order."""
    def top_k(
        self,
        x: TensorLike,
        values: TensorLike | None = ...,
        *,
        indices: TensorLike | None = ...,
        smallest: bool = ...,
        k: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Finds the k largest or smallest elements of each row, sorted, and their indices; of equal ones the first."""
    def unique(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        count: TensorLike | None = ...,
        sort: bool = ...,
        counts: TensorLike | None = ...,
        inverse: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Drops each element of a vector that equals the one before it, or with sort each that equals any other."""

class Rng(Library):
    def bernoulli(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        probability: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes 1 (true) with a probability, 0 otherwise."""
    def beta(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        a: float = ...,
        b: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes beta numbers: density proportional to x^(a−1) · (1−x)^(b−1)."""
    def bits(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Fills a tensor with random bits."""
    def cauchy(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        location: float = ...,
        scale: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes Cauchy numbers: location + scale · tan(π(u − 1/2))."""
    def discrete(
        self,
        weights: TensorLike,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes indices i of weights, with a probability of weights[i] / Σ weights."""
    def exponential(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        rate: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes exponential numbers: density rate · e^(−rate·x)."""
    def gamma(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        shape: float = ...,
        scale: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes gamma numbers: density proportional to x^(shape−1) · e^(−x/scale)."""
    def integers(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        low: complex = ...,
        high: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes integers low … high, both included, each as likely."""
    def log_normal(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        mean: float = ...,
        deviation: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes e^x for normal numbers x with a mean and a standard deviation."""
    def normal(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        mean: float = ...,
        deviation: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes normal numbers with a mean and a standard deviation."""
    def permutation(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes a random order of 0 … n − 1, each as likely."""
    def poisson(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        mean: float = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes Poisson numbers with a mean."""
    def uniform(
        self,
        to: TensorLike | None = ...,
        *,
        from_type: Literal['philox4x32_10', 'xorwow', 'mrg32k3a', 'mtgp32', 'mt19937', 'sobol32', 'scrambled_sobol32', 'sobol64', 'scrambled_sobol64'] = ...,
        from_seed: int = ...,
        from_subsequence: int = ...,
        from_offset: int = ...,
        low: float = ...,
        high: float = ...,
        interval: Literal['closed_open', 'open_closed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes numbers that are uniform between low and high."""

class Solver(Library):
    def eig(
        self,
        a: TensorLike,
        w: TensorLike | None = ...,
        *,
        vr: TensorLike | None = ...,
        vl: TensorLike | None = ...,
        right: bool = ...,
        left: bool = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Finds eigenvalues and eigenvectors of matrices of any kind."""
    def eig_generalised(
        self,
        a: TensorLike,
        b: TensorLike,
        alpha: TensorLike | None = ...,
        beta: TensorLike | None = ...,
        *,
        vr: TensorLike | None = ...,
        vl: TensorLike | None = ...,
        right: bool = ...,
        left: bool = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Finds eigenvalues alpha / beta and eigenvectors of a with b, matrices of any kind."""
    def eigh(
        self,
        a: TensorLike,
        w: TensorLike | None = ...,
        *,
        v: TensorLike | None = ...,
        count: TensorLike | None = ...,
        vectors: bool = ...,
        uplo: Literal['upper', 'lower'] = ...,
        driver: Literal['automatic', 'divide_and_conquer', 'jacobi'] = ...,
        range: Literal['all', 'values', 'indices'] = ...,
        lower: float = ...,
        upper: float = ...,
        first: int = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Finds eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    def eigh_generalised(
        self,
        a: TensorLike,
        b: TensorLike,
        w: TensorLike | None = ...,
        *,
        v: TensorLike | None = ...,
        problem: Literal['ax_lbx', 'abx_lx', 'bax_lx'] = ...,
        vectors: bool = ...,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Finds eigenvalues and eigenvectors of a with b, which is positive definite."""
    def gbsv(
        self,
        ab: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        kl: int = ...,
        ku: int = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Solves systems with band matrices: a · x = b, by LU with partial pivoting."""
    def gels(
        self,
        a: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        driver: Literal['qr', 'svd'] = ...,
        rank: TensorLike | None = ...,
        rcond: float = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Finds x that minimises the norm of each column of a · x − b; of several, the shortest."""
    def geqp3(
        self,
        a: TensorLike,
        qr: TensorLike | None = ...,
        tau: TensorLike | None = ...,
        columns: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor, Tensor]]:
        """Factors matrices with pivoting of columns: a · P = Q · R, Q as Householder reflectors."""
    def geqrf(
        self,
        a: TensorLike,
        qr: TensorLike | None = ...,
        tau: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Factors matrices: a = Q · R, Q as Householder reflectors."""
    def gesv(
        self,
        a: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Solves systems: a · x = b, by LU with partial pivoting."""
    def gesv_refined(
        self,
        a: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        iterations: TensorLike | None = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Solves systems: a · x = b, by LU in half the precision and refinement to the full one."""
    def getrf(
        self,
        a: TensorLike,
        lu: TensorLike | None = ...,
        pivots: TensorLike | None = ...,
        *,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Factors matrices: a = P · L · U, with partial pivoting."""
    def getri(
        self,
        lu: TensorLike,
        pivots: TensorLike,
        inverse: TensorLike | None = ...,
        *,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Inverts matrices from their factors of `getrf`: inverse = a⁻¹."""
    def getrs(
        self,
        lu: TensorLike,
        pivots: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with factors from `getrf`: op_a(a) · x = b."""
    def hetrf(
        self,
        a: TensorLike,
        factor: TensorLike | None = ...,
        pivots: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Factors Hermitian matrices: a = U · D · Uᴴ (upper), or a = L · D · Lᴴ (lower)."""
    def hetrs(
        self,
        factor: TensorLike,
        pivots: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with factors from `hetrf`: a · x = b."""
    def orgqr(
        self,
        qr: TensorLike,
        tau: TensorLike,
        q: TensorLike | None = ...,
        *,
        basis: Literal['thin', 'full'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes Q, from the reflectors of `geqrf` or `geqp3`."""
    def ormqr(
        self,
        qr: TensorLike,
        tau: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        side: Literal['left', 'right'] = ...,
        op_q: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies by Q: y = op_q(Q) · x (left), or y = x · op_q(Q) (right)."""
    def pbsv(
        self,
        ab: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Solves systems with positive definite band matrices: a · x = b, by Cholesky."""
    def posv(
        self,
        a: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Solves systems with positive definite matrices: a · x = b."""
    def potrf(
        self,
        a: TensorLike,
        factor: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Factors positive definite matrices: a = L · Lᴴ (lower), or a = Uᴴ · U (upper)."""
    def potri(
        self,
        factor: TensorLike,
        inverse: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Inverts matrices from their factors of `potrf`: inverse = a⁻¹."""
    def potrs(
        self,
        factor: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with factors from `potrf`: a · x = b."""
    def sparse_cholesky(
        self,
        offsets: TensorLike,
        columns: TensorLike,
        values: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        ordering: Literal['automatic', 'none'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with a sparse positive definite matrix: a · x = b, by Cholesky."""
    def sparse_lu(
        self,
        offsets: TensorLike,
        columns: TensorLike,
        values: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        ordering: Literal['automatic', 'none'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with a sparse square matrix: a · x = b, by LU with partial pivoting."""
    def sparse_qr(
        self,
        offsets: TensorLike,
        columns: TensorLike,
        values: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        ordering: Literal['automatic', 'none'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Finds x that minimises the norm of each column of a · x − b, with sparse a, by QR."""
    def svd(
        self,
        a: TensorLike,
        s: TensorLike | None = ...,
        *,
        u: TensorLike | None = ...,
        vh: TensorLike | None = ...,
        vectors: Literal['none', 'thin', 'full'] = ...,
        driver: Literal['automatic', 'qr', 'jacobi', 'polar', 'randomised', 'approximate'] = ...,
        oversampling: int = ...,
        iterations: int = ...,
        seed: int = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Decomposes matrices: a = u · diag(s) · vh, with orthonormal u and vh."""
    def sytrf(
        self,
        a: TensorLike,
        factor: TensorLike | None = ...,
        pivots: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Factors symmetric matrices: a = U · D · Uᵀ (upper), or a = L · D · Lᵀ (lower)."""
    def sytrs(
        self,
        factor: TensorLike,
        pivots: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with factors from `sytrf`: a · x = b."""
    def trtri(
        self,
        a: TensorLike,
        inverse: TensorLike | None = ...,
        *,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        info: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """Inverts triangular matrices: inverse = a⁻¹."""

class Sparse(Library):
    def add(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b_indices: TensorLike,
        b_values: TensorLike,
        c_indices: TensorLike | None = ...,
        c_values: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        b_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        b_rows: int = ...,
        b_columns: int = ...,
        b_slice_rows: int = ...,
        b_offsets: TensorLike | None = ...,
        b_row_indices: TensorLike | None = ...,
        c_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        c_rows: int = ...,
        c_columns: int = ...,
        c_slice_rows: int = ...,
        c_offsets: TensorLike | None = ...,
        c_row_indices: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        nnz: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Adds two sparse matrices: c = alpha · a + beta · b."""
    def axpby(
        self,
        indices: TensorLike,
        values: TensorLike,
        y: TensorLike | None = ...,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Adds a multiple of a sparse vector to one of a dense vector: y = alpha · x + beta · y."""
    def convert(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b_indices: TensorLike | None = ...,
        b_values: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        b_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        b_rows: int = ...,
        b_columns: int = ...,
        b_slice_rows: int = ...,
        b_offsets: TensorLike | None = ...,
        b_row_indices: TensorLike | None = ...,
        nnz: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Writes a sparse matrix in another format, or the same with its elements in order."""
    def from_dense(
        self,
        a: TensorLike,
        b_indices: TensorLike | None = ...,
        b_values: TensorLike | None = ...,
        *,
        b_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        b_rows: int = ...,
        b_columns: int = ...,
        b_slice_rows: int = ...,
        b_offsets: TensorLike | None = ...,
        b_row_indices: TensorLike | None = ...,
        nnz: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Keeps the elements of a dense matrix that are not zero."""
    def gather(
        self,
        indices: TensorLike,
        y: TensorLike,
        values: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Takes elements of a dense vector: xₖ = y[indicesₖ]."""
    def rot(
        self,
        indices: TensorLike,
        values: TensorLike,
        y: TensorLike,
        *,
        c: complex = ...,
        s: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[tuple[Tensor, Tensor]]:
        """Applies a plane rotation to a sparse and a dense vector: xₖ, yᵢ = c · xₖ + s · yᵢ, c · yᵢ − s · xₖ."""
    def scatter(
        self,
        indices: TensorLike,
        values: TensorLike,
        y: TensorLike,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Puts elements into a dense vector: y[indicesₖ] = xₖ."""
    def sddmm(
        self,
        a: TensorLike,
        b: TensorLike,
        c_indices: TensorLike,
        c_values: TensorLike,
        *,
        alpha: complex = ...,
        beta: complex = ...,
        c_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        c_rows: int = ...,
        c_columns: int = ...,
        c_slice_rows: int = ...,
        c_offsets: TensorLike | None = ...,
        c_row_indices: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """The elements of a dense product that a sparse matrix has: c = alpha · (a · b) ∘ pattern of c + beta · c."""
    def slice(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b_indices: TensorLike | None = ...,
        b_values: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        b_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        b_rows: int = ...,
        b_columns: int = ...,
        b_slice_rows: int = ...,
        b_offsets: TensorLike | None = ...,
        b_row_indices: TensorLike | None = ...,
        nnz: TensorLike | None = ...,
        first_row: int = ...,
        first_column: int = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Takes a part of a sparse matrix."""
    def spgemm(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b_indices: TensorLike,
        b_values: TensorLike,
        c_indices: TensorLike | None = ...,
        c_values: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        b_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        b_rows: int = ...,
        b_columns: int = ...,
        b_slice_rows: int = ...,
        b_offsets: TensorLike | None = ...,
        b_row_indices: TensorLike | None = ...,
        c_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        c_rows: int = ...,
        c_columns: int = ...,
        c_slice_rows: int = ...,
        c_offsets: TensorLike | None = ...,
        c_row_indices: TensorLike | None = ...,
        alpha: complex = ...,
        nnz: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Multiplies two sparse matrices: c = alpha · a · b."""
    def spgemm_size(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b_indices: TensorLike,
        b_values: TensorLike,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        b_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        b_rows: int = ...,
        b_columns: int = ...,
        b_slice_rows: int = ...,
        b_offsets: TensorLike | None = ...,
        b_row_indices: TensorLike | None = ...,
        nnz: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[int]:
        """Counts the elements of a product of two sparse matrices."""
    def spmm(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b: TensorLike,
        c: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a sparse and a dense matrix: c = alpha · op_a(a) · b + beta · c."""
    def spmv(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies a sparse matrix and a vector: y = alpha · op_a(a) · x + beta · y."""
    def spsm(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves systems with a sparse triangular matrix: op_a(a) · x = alpha · b."""
    def spsv(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b: TensorLike,
        x: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        alpha: complex = ...,
        uplo: Literal['upper', 'lower'] = ...,
        diag: Literal['non_unit', 'unit'] = ...,
        op_a: Literal['none', 'transpose', 'conjugate_transpose', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Solves a system with a sparse triangular matrix: op_a(a) · x = alpha · b."""
    def spvv(
        self,
        indices: TensorLike,
        values: TensorLike,
        y: TensorLike,
        *,
        result: TensorLike | None = ...,
        op_x: Literal['none', 'conjugate'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Any]:
        """The inner product of a sparse and a dense vector: Σ op_x(xₖ) · y[indicesₖ]."""
    def structured_check(
        self,
        x: TensorLike,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Fails if a matrix is not 2:4."""
    def structured_compress(
        self,
        x: TensorLike,
        compressed: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Compresses 2:4 weights for products that read them many times."""
    def structured_matmul(
        self,
        a: TensorLike,
        b: TensorLike,
        d: TensorLike | None = ...,
        *,
        compressed: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        epilogue: Literal['none', 'relu', 'gelu', 'bias', 'relu_bias', 'gelu_bias', 'relu_aux', 'gelu_aux', 'relu_aux_bias', 'gelu_aux_bias', 'drelu', 'dgelu', 'drelu_bgrad', 'dgelu_bgrad', 'bgrad_a', 'bgrad_b'] = ...,
        c: TensorLike | None = ...,
        bias: TensorLike | None = ...,
        tuning: Literal['heuristic', 'timed'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Multiplies by 2:4 weights and applies an epilogue: d = epilogue(alpha · a · b + beta · c)."""
    def structured_prune(
        self,
        x: TensorLike,
        y: TensorLike | None = ...,
        *,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Keeps the two elements of largest magnitude of each four and sets the others to zero."""
    def to_dense(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        b: TensorLike | None = ...,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Writes a sparse matrix as a dense one."""
    def validate(
        self,
        a_indices: TensorLike,
        a_values: TensorLike,
        *,
        a_format: Literal['csr', 'csc', 'coo', 'bsr', 'blocked_ell', 'sliced_ell'] = ...,
        a_rows: int = ...,
        a_columns: int = ...,
        a_slice_rows: int = ...,
        a_offsets: TensorLike | None = ...,
        a_row_indices: TensorLike | None = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[None]:
        """Checks the pattern of a sparse matrix where it lies."""

class Tensors(Library):
    def binary(
        self,
        a: TensorLike,
        c: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        alpha: complex = ...,
        gamma: complex = ...,
        op_a: Literal['identity', 'negate', 'conjugate', 'square', 'reciprocal', 'absolute', 'square_root', 'exponential', 'logarithm', 'sine', 'cosine', 'tangent', 'hyperbolic_tangent', 'sigmoid', 'relu', 'ceil', 'floor'] = ...,
        op_c: Literal['identity', 'negate', 'conjugate', 'square', 'reciprocal', 'absolute', 'square_root', 'exponential', 'logarithm', 'sine', 'cosine', 'tangent', 'hyperbolic_tangent', 'sigmoid', 'relu', 'ceil', 'floor'] = ...,
        op: Literal['add', 'subtract', 'multiply', 'minimum', 'maximum', 'max', 'min'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Combines two tensors over named dimensions: d = op(alpha · op_a(a), gamma · op_c(c))."""
    def contract(
        self,
        a: TensorLike,
        b: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        c: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Contracts two tensors with named dimensions: d = alpha · Σ a · b + beta · c."""
    def contract_blocks(
        self,
        a: TensorLike,
        b: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        section_counts: Sequence[int] = ...,
        sections: Sequence[int] = ...,
        a_blocks: Sequence[int] = ...,
        b_blocks: Sequence[int] = ...,
        c: TensorLike | None = ...,
        d_blocks: Sequence[int] = ...,
        alpha: complex = ...,
        beta: complex = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Contracts two block-sparse tensors with named dimensions: d = alpha · Σ a · b + beta · c."""
    def einsum(
        self,
        operands: Sequence[TensorLike],
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        alpha: complex = ...,
        math: Literal['strict', 'tf32', 'bf16x9'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Contracts tensors with named dimensions, in the best order: d = alpha · Σ Π operands."""
    def permute(
        self,
        a: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        alpha: complex = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Permutes named dimensions, and converts: d = alpha · a."""
    def reduce(
        self,
        a: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        c: TensorLike | None = ...,
        alpha: complex = ...,
        beta: complex = ...,
        op: Literal['sum', 'maximum', 'minimum', 'product', 'max', 'min', 'prod'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Reduces named dimensions: d = alpha · op(a) + beta · c."""
    def trinary(
        self,
        a: TensorLike,
        b: TensorLike,
        c: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        alpha: complex = ...,
        beta: complex = ...,
        gamma: complex = ...,
        op_a: Literal['identity', 'negate', 'conjugate', 'square', 'reciprocal', 'absolute', 'square_root', 'exponential', 'logarithm', 'sine', 'cosine', 'tangent', 'hyperbolic_tangent', 'sigmoid', 'relu', 'ceil', 'floor'] = ...,
        op_b: Literal['identity', 'negate', 'conjugate', 'square', 'reciprocal', 'absolute', 'square_root', 'exponential', 'logarithm', 'sine', 'cosine', 'tangent', 'hyperbolic_tangent', 'sigmoid', 'relu', 'ceil', 'floor'] = ...,
        op_c: Literal['identity', 'negate', 'conjugate', 'square', 'reciprocal', 'absolute', 'square_root', 'exponential', 'logarithm', 'sine', 'cosine', 'tangent', 'hyperbolic_tangent', 'sigmoid', 'relu', 'ceil', 'floor'] = ...,
        op_ab: Literal['add', 'subtract', 'multiply', 'minimum', 'maximum', 'max', 'min'] = ...,
        op: Literal['add', 'subtract', 'multiply', 'minimum', 'maximum', 'max', 'min'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Combines three tensors over named dimensions: d = op(op_ab(a, b), c), each of them alpha · op_a(a) and so on."""
    def unary(
        self,
        a: TensorLike,
        d: TensorLike | None = ...,
        *,
        modes: str = ...,
        alpha: complex = ...,
        op: Literal['identity', 'negate', 'conjugate', 'square', 'reciprocal', 'absolute', 'square_root', 'exponential', 'logarithm', 'sine', 'cosine', 'tangent', 'hyperbolic_tangent', 'sigmoid', 'relu', 'ceil', 'floor'] = ...,
        deadline: float | None = ...,
        run_limit: float | None = ...,
        quarantine: bool = ...,
        tag: int = ...,
    ) -> Future[Tensor]:
        """Applies an operator over named dimensions: d = alpha · op(a)."""

class Libraries:
    @property
    def blas(self) -> Blas: ...
    @property
    def blaslt(self) -> Blaslt: ...
    @property
    def dnn(self) -> Dnn: ...
    @property
    def elementwise(self) -> Elementwise: ...
    @property
    def fault(self) -> Fault: ...
    @property
    def fft(self) -> Fft: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def jit(self) -> Jit: ...
    @property
    def lane(self) -> Lane: ...
    @property
    def memory(self) -> Memory: ...
    @property
    def primitives(self) -> Primitives: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def solver(self) -> Solver: ...
    @property
    def sparse(self) -> Sparse: ...
    @property
    def tensors(self) -> Tensors: ...
    def __getattr__(self, name: str) -> Library: ...
