// A factor and what it has become; see standing_factor.hpp.
#include "standing_factor.hpp"

namespace kdsl {

namespace {

using Int = std::int64_t;

// Of the largest diagonal entry: what rounding adds to a sum of products, and a pivot that is nothing else.
template <class T>
constexpr double kRidge = 16 * double(std::numeric_limits<T>::epsilon());
template <class T>
constexpr double kLost = 2 * double(std::numeric_limits<T>::epsilon());

constexpr Int kMore = 8, kLeast = 32;  // of the coordinates there is room for one more in so many, and for as many at least
constexpr Int kUnit = 32;              // rows begin with lines of the cache

}  // namespace

template <class T>
Difference StandingFactor<T>::difference(const std::vector<Inside>& free) const {
    const Int common = std::ranges::count_if(free, [this](const Inside& one) { return place(one) >= 0; });
    return {size() - common, Int(free.size()) - common};
}

template <class T>
void StandingFactor<T>::remember(const std::vector<Inside>& more) {
    for (const Inside& one : more) {
        if (one.k >= Int(place_.size())) place_.resize(std::size_t(one.k) + 1, -1);
        place_[one.k] = size();
        in_.push_back(one);
    }
}

template <class T>
void StandingFactor<T>::forget() {
    for (const Inside& one : in_) place_[one.k] = -1;
    in_.clear();
    factor_.reset();
}

template <class T>
void StandingFactor<T>::release() {
    forget();
    matrix_.reset();
    numbers_ = 0;
}

template <class T>
T* StandingFactor<T>::start(const std::vector<Inside>& order) {
    forget();
    remember(order);
    room_ = size() + std::max(size() / kMore, kLeast);
    stride_ = (room_ + kUnit - 1) / kUnit * kUnit;
    if (room_ * stride_ > numbers_) {
        matrix_.reset();
        numbers_ = room_ * stride_;
        matrix_ = aligned<T>(std::size_t(numbers_));
    }
    return matrix_.get();
}

template <class T>
void StandingFactor<T>::factorise(Pool& pool) {
    largest_ = double(std::numeric_limits<T>::min()) / kLost<T>;
    for (Int i = 0; i < size(); ++i) largest_ = std::max(largest_, double(matrix_[i * stride_ + i]));
    ridge_ = kRidge<T> * largest_;
    ++record.made.factors;
    for (Int i = 0; i < size(); ++i) matrix_[i * stride_ + i] += T(ridge_);
    factor_ = std::make_unique<Cholesky<T>>(matrix_.get(), size(), stride_, T(kLost<T> * largest_), micro_, pool);
}

template <class T>
void StandingFactor<T>::append(const std::vector<Inside>& more, std::vector<double> columns, std::vector<double> corner,
                               Pool& pool) {
    for (std::size_t c = 0; c < more.size(); ++c) corner[c * more.size() + c] += ridge_;
    factor_->append(std::move(columns), std::move(corner), pool);
    remember(more);
}

template class StandingFactor<float>;
template class StandingFactor<double>;

}  // namespace kdsl
