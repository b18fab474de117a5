"""Estimators whose parameters are the constructor's keywords and, beside them, the `param`s of their spec.

docs/decisions/0009-parameters-follow-the-spec.md says why there is one class for all specs.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from kdsl.binding.faults import nearest
from kdsl.language.model import Model
from kdsl.sklearn.reading import keywords_of, may_be_keyword, model_of


class SpecParameters(BaseEstimator):  # type: ignore[misc]
    """Keeps the values of the spec's parameters: those that were given, by keyword; the spec's defaults stand for the
    others, as they do for None."""

    spec: Any
    _keywords: ClassVar[tuple[str, ...]]  # of the constructor
    _taken: ClassVar[frozenset[str]]  # these, and the names of the class and its bases

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._keywords = tuple(super()._get_param_names())
        cls._taken = frozenset([*cls._keywords, *(name for base in cls.__mro__ for name in vars(base))])

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """What scikit-learn reads off the constructor's signature each time that it asks."""
        return list(cls._keywords)

    def _take(self, values: dict[str, Any]) -> None:
        """What a constructor does with its `**parameters`."""
        self.__dict__["_parameters"] = values
        self._refuse_strangers(values, TypeError)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter by name: the constructor's keywords, then those of the spec."""
        params: dict[str, Any] = super().get_params(deep=deep)
        model = self._readable()
        if model is not None:
            defaults = {p.name: None if p.default is None else float(p.default) for p in model.parameters}
            params |= {word: defaults[name] for word, name in self._known(model).items()}
        return {**params, **self._parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a new `spec` first, so that its parameters can come with it."""
        own = self._get_param_names()
        for_spec = {name: value for name, value in params.items() if name not in own}
        before = self.spec
        self.spec = params.get("spec", before)
        try:
            self._refuse_strangers(for_spec, ValueError)
        except ValueError:
            self.spec = before
            raise
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self.__dict__["_parameters"] = {**self._parameters, **for_spec}
        return self

    def __sklearn_clone__(self) -> Self:
        """A clone in which the defaults that nobody chose still follow the spec."""
        fresh: Self = super().__sklearn_clone__()
        kept = {name: value for name, value in fresh._parameters.items() if name in self._parameters}
        fresh.__dict__["_parameters"] = kept
        return fresh

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """As scikit-learn writes it, with a model by its name and not by all that is in it."""
        shown = self
        if isinstance(self.spec, Model):
            shown = copy(self)
            shown.__dict__["spec"] = Named(self.spec.name)
        return str(BaseEstimator.__repr__(shown, N_CHAR_MAX))

    @property
    def _parameters(self) -> dict[str, Any]:
        return self.__dict__["_parameters"]  # type: ignore[no-any-return]

    def _known(self, model: Model) -> Mapping[str, str]:
        """The spec's parameters by the keywords that stand for them."""
        return keywords_of(model, self._taken)

    def _readable(self) -> Model | None:
        """The model, or None where the spec cannot be read or used: fit says why."""
        try:
            model = model_of(self.spec)
            self._known(model)
        except (TypeError, ValueError):
            return None
        return model

    def _refuse_strangers(self, values: dict[str, Any], kind: type[Exception]) -> None:
        """An error that names the nearest parameter for a name that is none of the spec's; None is no value."""
        model = self._readable()
        known = [*values] if model is None else [*self._known(model)]
        for name, value in values.items():
            if name not in known and value is not None:
                raise kind(
                    f"{type(self).__name__} with the spec `{'' if model is None else model.name}` has no parameter "
                    f"`{name}`: {nearest(name, [*known, *self._get_param_names()])}"
                )

    def _spec_values(self, model: Model) -> dict[str, float]:
        """The values that were given, by the names of the spec."""
        known = self._known(model)
        self._refuse_strangers(self._parameters, ValueError)
        values = {name: value for name, value in self._parameters.items() if value is not None}
        for name, value in values.items():
            if isinstance(value, bool | str) or not hasattr(value, "__float__"):
                raise TypeError(f"the parameter {name} must be a number, not {value!r}")
        return {known[name]: float(value) for name, value in values.items()}

    def __getattr__(self, name: str) -> Any:
        if self._may_be_of_spec(name):
            params = self.get_params(deep=False)
            if name in params:
                return params[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and self._may_be_of_spec(name) and name in self.get_params(deep=False):
            self.set_params(**{name: value})
        else:
            super().__setattr__(name, value)

    def _may_be_of_spec(self, name: str) -> bool:
        built = "_parameters" in self.__dict__
        return built and may_be_keyword(name, self._taken) and name not in self._keywords


class Named:
    """Stands for a model where an estimator is printed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<model {self.name}>"
