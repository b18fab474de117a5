// The part of the plain program that evaluates kernels: expansions and blocks, compared with one value after another.
#include <cmath>
#include <cstdio>
#include <random>

#include "expansion.hpp"
#include "kernel_blocks.hpp"

namespace kdsl {

bool kernels_are_evaluated();

namespace {

struct Data {
    std::int64_t count, features;
    std::vector<double> x;
    std::vector<float> single;
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> feature;

    // So much of the features is not 0.5.
    Data(std::int64_t count, std::int64_t features, double left, std::mt19937& random)
        : count(count), features(features) {
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> uniform;
        for (std::int64_t e = 0; e < count * features; ++e) {
            x.push_back(uniform(random) < left ? double(float(normal(random))) : 0.5);
            single.push_back(float(x.back()));
            feature.push_back(std::int32_t(e % features));
        }
        for (std::int64_t i = 0; i <= count; ++i) start.push_back(i * features);
    }
    PointSource source(bool sparse) const {
        PointSource s;
        s.count = count;
        s.features = features;
        if (sparse)
            s.start = start.data(), s.feature = feature.data(), s.value = x.data();
        else
            s.dense = x.data();
        return s;
    }
    double gaussian(std::int64_t i, const Data& other, std::int64_t j, double gamma) const {
        double square = 0;
        for (std::int64_t f = 0; f < features; ++f)
            square += std::pow(x[i * features + f] - other.x[j * features + f], 2);
        return std::exp(-gamma * square);
    }
};

template <class T>
double block_error(const Data& data, const KernelSpec& kernel, bool sparse, Pool& pool) {
    const PointSource source = data.source(sparse);
    KernelBlocks blocks(kernel, source, source, choose_micro());
    std::vector<std::int64_t> index;
    for (std::int64_t i = 0; i < data.count; ++i) index.push_back(data.count - 1 - i);
    std::vector<T> out(index.size() * index.size());
    blocks.block<T>(index, index, out.data(), data.count, pool);
    double error = 0;
    for (std::int64_t i = 0; i < data.count; ++i)
        for (std::int64_t j = 0; j < data.count; ++j)
            error = std::max(error, std::abs(double(out[i * data.count + j]) -
                                             data.gaussian(index[i], data, index[j], kernel.gamma)));
    return error;
}

// How far several vectors at once are from each of them alone: at other points, and among the points themselves.
double shared_error(Expansion& expansion, const Data& support, const KernelSpec& kernel, bool sparse, const NewPoints& at,
                    Pool& pool) {
    constexpr std::int64_t kMany = 6;
    const std::int64_t n = support.count, m = at.source.count;
    std::vector<double> all;
    for (std::int64_t k = 0; k < kMany * n; ++k) all.push_back(std::cos(double(k)));
    const PointSource source = support.source(sparse);
    KernelBlocks blocks(kernel, source, source, choose_micro());
    std::vector<std::int64_t> index;
    for (std::int64_t i = 0; i < n; ++i) index.push_back(i);
    const std::vector<double> there = expansion.values(all, at, pool), here = blocks.product<double>(index, all, pool);
    double error = 0;
    for (std::int64_t v = 0; v < kMany; ++v) {
        const std::vector<double> one(all.begin() + v * n, all.begin() + (v + 1) * n);
        const std::vector<double> beside = expansion.values(one, at, pool);
        const std::vector<double> among = blocks.product<double>(index, one, pool);
        for (std::int64_t j = 0; j < m; ++j) error = std::max(error, std::abs(there[v * m + j] - beside[j]));
        for (std::int64_t j = 0; j < n; ++j) error = std::max(error, std::abs(here[v * n + j] - among[j]));
    }
    return error;
}

}  // namespace

bool kernels_are_evaluated() {
    std::mt19937 random(11);
    Pool pool(3, [] {});
    bool good = true;
    for (const std::int64_t features : {3, 40, 80})
        for (const bool sparse : {false, true}) {
            const KernelSpec kernel{Kind::gaussian, 1.0 / double(features), 0, 1};
            const double left = features > 64 ? 0.2 : 1.0;
            const Data support(131, features, left, random), other(77, features, left, random);
            const std::vector<double> one(support.count, 1.0);
            Expansion expansion(kernel, support.source(sparse), {}, choose_micro(), 2);
            good = good && expansion.is_thin() == (features > 64 && !sparse && choose_micro().tiles == nullptr);
            NewPoints at{other.source(sparse), nullptr}, single = at;
            if (!sparse) single.single = other.single.data();
            const std::vector<double> exact = expansion.values(one, at, pool);
            const std::optional<std::vector<double>> rough = expansion.rough_values(one, single, pool);
            double error = 0, rough_error = rough ? 0 : 1;
            for (std::int64_t j = 0; j < other.count; ++j) {
                double wanted = 0;
                for (std::int64_t i = 0; i < support.count; ++i)
                    wanted += support.gaussian(i, other, j, kernel.gamma);
                error = std::max(error, std::abs(exact[j] - wanted));
                if (rough) rough_error = std::max(rough_error, std::abs((*rough)[j] - wanted));
            }
            const double block = block_error<double>(support, kernel, sparse, pool);
            const double rough_block = block_error<float>(support, kernel, sparse, pool);
            const double shared = shared_error(expansion, support, kernel, sparse, at, pool);
            const bool fine =
                error < 1e-11 && rough_error < 1e-3 && block < 1e-13 && rough_block < 1e-5 && shared < 1e-11;
            std::printf("%s kernels, %ld features, sparse %d: %.1e, %.1e; blocks %.1e, %.1e; shared %.1e\n",
                        fine ? "ok  " : "FAIL", long(features), int(sparse), error, rough_error, block, rough_block,
                        shared);
            good = good && fine;
        }
    return good;
}

}  // namespace kdsl
