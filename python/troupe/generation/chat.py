"""Conversations as prompts, by the template that a model's file has."""

from __future__ import annotations

import datetime
import secrets
import sys
import time
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .tokens import Tokenizer

_LONGEST = 4 << 20  # letters of a prompt, as of the body of a request
_SECONDS = 0.5

# ChatML, for files without a template: most models know it.
_CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class BadTemplate(ValueError):
    """The template refuses the conversation, or takes too long."""


class _Environment(ImmutableSandboxedEnvironment):
    """Templates are code of a model's file: they reach nothing, and end."""


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


class Template:
    """A template, compiled. Raises ValueError if it is none."""

    def __init__(self, tokenizer: Tokenizer, source: str | None) -> None:
        self._tokenizer = tokenizer
        environment = _Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = _now
        try:
            self._template = environment.from_string(source or _CHATML)
        except TemplateError as why:
            raise ValueError(f"its chat template: {why}") from None
        names = {i: one for one, i in tokenizer.specials.items()}
        self._words = {
            "bos_token": names.get(tokenizer.begins[0], "") if tokenizer.begins else "",
            "eos_token": next((names[one] for one in sorted(tokenizer.ends) if one in names), ""),
        }

    def encode(self, messages: list[dict[str, str]]) -> list[int]:
        """The tokens of a conversation that the model is to go on with.

        Special tokens come from the template alone: those in messages are texts.
        """
        mark = "\ue000" + secrets.token_hex(8) + "\ue000"
        hidden = [
            {name: self._tokenizer.hide(text, mark) for name, text in one.items()}
            for one in messages
        ]
        return self._tokenizer.encode_shown(self._rendered(hidden), mark)

    def _rendered(self, messages: list[dict[str, str]]) -> str:
        last = time.monotonic() + _SECONDS

        def in_time(*_: Any) -> Any:
            if time.monotonic() > last:
                raise BadTemplate(f"the template took more than {_SECONDS:g} s")
            return in_time

        parts: list[str] = []
        size = 0
        before = sys.gettrace()
        sys.settrace(in_time)
        try:
            for part in self._template.generate(
                messages=messages, add_generation_prompt=True, tools=None, **self._words
            ):
                size += len(part)
                if size > _LONGEST:
                    raise BadTemplate(f"the prompt has more than {_LONGEST} letters")
                parts.append(part)
        except BadTemplate:
            raise
        except Exception as why:  # a template is code, and may raise anything
            raise BadTemplate(f"the template refuses it: {str(why)[:200]}") from None
        finally:
            sys.settrace(before)
        return "".join(parts)
