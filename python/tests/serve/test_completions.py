"""Texts over HTTP, as clients ask for them."""

import asyncio
import json
import os
import pathlib
import re
import signal

import openai
import pytest

PROMPT = "the thin thing in the inn"


def _body(**more):
    return {"model": "talk", "prompt": PROMPT, "temperature": 0, "max_tokens": 12} | more


def _chat(content=PROMPT, **more):
    messages = [{"role": "user", "content": content}]
    return {"model": "talk", "messages": messages, "temperature": 0, "max_tokens": 12} | more


def _text(serving, **more):
    answer = serving.post("/v1/completions", _body(**more))
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["text"]


def _events(text):
    """Each is its name and data."""
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = dict(one.split(": ", 1) for one in block.split("\n"))
        found.append((lines.get("event", ""), lines["data"]))
    return found


@pytest.fixture(scope="module")
def client(talking):
    with openai.OpenAI(base_url=talking.url + "/v1", api_key="none", max_retries=0) as made:
        yield made


def test_openai_gets_whole_answers(client):
    text = client.completions.create(**_body(logprobs=2, n=2))
    assert [one.finish_reason for one in text.choices] == ["length"] * 2
    assert text.choices[0].text == text.choices[1].text and text.usage.completion_tokens == 24
    said = text.choices[0].logprobs
    assert "".join(said.tokens) == text.choices[0].text and len(said.top_logprobs[0]) == 2
    assert said.token_logprobs[0] == pytest.approx(max(said.top_logprobs[0].values()), abs=1e-4)
    chat = client.chat.completions.create(**_chat(logprobs=True, top_logprobs=1))
    assert chat.choices[0].message.role == "assistant"
    tokens = chat.choices[0].logprobs.content
    assert len(tokens) == 12 == chat.usage.completion_tokens
    assert all(
        one.logprob == pytest.approx(one.top_logprobs[0].logprob, abs=1e-4) for one in tokens
    )


def test_openai_gets_streams(client):
    whole = client.chat.completions.create(**_chat()).choices[0].message.content
    parts = list(client.chat.completions.create(**_chat(), stream=True, stream_options={"include_usage": True}))  # fmt: skip
    assert parts[0].choices[0].delta.role == "assistant"
    assert "".join(one.choices[0].delta.content for one in parts[:-1]) == whole
    assert parts[-2].choices[0].finish_reason == "length"
    assert parts[-1].choices == [] and parts[-1].usage.completion_tokens == 12
    texts = client.completions.create(**_body(), stream=True)
    assert "".join(one.choices[0].text for one in texts) == client.completions.create(**_body()).choices[0].text  # fmt: skip


def test_a_seed_draws_the_same_text(talking):
    drawn = {"temperature": 1.2, "top_p": 0.95, "max_tokens": 24}
    same = {_text(talking, seed=4, **drawn) for _ in range(3)}
    assert len(same) == 1
    assert len({_text(talking, seed=i, **drawn) for i in range(4)}) > 1
    answer = talking.post("/v1/completions", _body(n=3, seed=1, **drawn)).json()
    assert len({one["text"] for one in answer["choices"]}) > 1


def test_a_stop_string_ends_a_text_across_tokens(talking):
    whole = _text(talking, max_tokens=40)
    stop = whole[9:13]
    answer = talking.post("/v1/completions", _body(max_tokens=40, stop=["never there", stop]))
    choice = answer.json()["choices"][0]
    assert choice["finish_reason"] == "stop" and choice["text"] == whole[: whole.index(stop)]
    streamed = talking.post("/v1/completions", _body(max_tokens=40, stop=stop, stream=True))
    parts = [json.loads(data) for _, data in _events(streamed.text)[:-1]]
    assert "".join(one["choices"][0]["text"] for one in parts) == choice["text"]


def test_prompts_are_texts_tokens_or_lists(talking):
    tokenizer = talking.service.models["talk"].tokenizer
    ids = tokenizer.encode(PROMPT)
    right = _text(talking)
    for prompt in (ids, [PROMPT], [ids]):
        assert _text(talking, prompt=prompt) == right
    answer = talking.post("/v1/completions", _body(prompt=[PROMPT, "in"], n=2)).json()
    assert [one["index"] for one in answer["choices"]] == [0, 1, 2, 3]
    assert answer["choices"][1]["text"] == right


def test_special_tokens_in_messages_stay_texts(talking):
    model = talking.service.models["talk"]
    ids = talking.run(model.ids_of_chat([{"role": "user", "content": "a<|im_end|>b"}]))
    assert ids.count(model.tokenizer.specials["<|im_end|>"]) == 1
    shown = b"".join(model.tokenizer.pieces[one] for one in ids).decode()
    assert shown == "<|im_start|>user\na<|im_end|>b<|im_end|>\n<|im_start|>assistant\n"


async def _streams(serving, count, **more):
    bodies = [_chat(f"number {i} in the inn", stream=True, max_tokens=60, **more) for i in range(count)]  # fmt: skip
    posts = (serving.client.post("/v1/chat/completions", json=one) for one in bodies)
    return [one.text for one in await asyncio.gather(*posts)]


def _said(text):
    parts = [json.loads(data) for name, data in _events(text)[:-1] if not name]
    return "".join(one["choices"][0]["delta"]["content"] for one in parts)


def test_streams_go_on_when_the_worker_is_killed(talking):
    right = [_said(one) for one in talking.run(_streams(talking, 6))]
    device = talking.service.device

    async def disturbed():
        asked = asyncio.ensure_future(_streams(talking, 6))
        for _ in range(3):
            await asyncio.sleep(0.03)
            await device.ready()
            if worker := device.worker_pid:
                os.kill(worker, signal.SIGKILL)
        return await asked

    texts = talking.run(disturbed())
    assert [_said(one) for one in texts] == right
    assert all(one.endswith("data: [DONE]\n\n") and "error" not in one for one in texts)


def test_a_culprit_ends_with_an_error_and_no_other(talking):
    talking.service.models["talk"].forgive()
    right = [_said(one) for one in talking.run(_streams(talking, 3))]

    async def both():
        bad = talking.client.post("/v1/chat/completions", json=_chat("some poison", stream=True))
        return await asyncio.gather(_streams(talking, 3), bad)

    texts, bad = talking.run(both())
    assert [_said(one) for one in texts] == right
    error = bad.json()["error"]
    assert bad.status_code == 424 and error["culprit"] is True and error["code"] == "device_fault"
    again = talking.post("/v1/chat/completions", _chat("some poison"))
    assert again.status_code == 424 and again.json()["error"]["code"] == "poisonous"
    assert int(again.headers["retry-after"]) > 1
    assert talking.service.models["talk"].forgive() == 1


def test_an_error_after_the_first_token_is_an_event(talking, client):
    body = _body(stream=True, max_tokens=400)
    answer = talking.ask(
        "POST", "/v1/completions", json=body, headers={"x-troupe-deadline-ms": "150"}
    )
    events = _events(answer.text)
    if answer.status_code != 200:
        assert answer.status_code == 504  # a machine too busy for a first token in time
        return
    assert events[-1] == ("", "[DONE]")
    name, data = events[-2]
    assert name == "error" and json.loads(data)["error"]["type"] == "timeout_error"


def test_who_goes_away_frees_the_pages(talking):
    model = talking.service.models["talk"]

    async def gone():
        reader, writer = await asyncio.open_connection("127.0.0.1", talking.port)
        body = json.dumps(_body(stream=True, max_tokens=450)).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await reader.readuntil(b"data:")
        writer.close()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if model.engine.running == 0:
                return True
        return False

    assert talking.run(gone())


def test_kserve_generates(talking):
    right = _text(talking)
    body = {"text_input": PROMPT, "parameters": {"max_tokens": 12}}
    answer = talking.post("/v2/models/talk/generate", body).json()
    assert answer == {"model_name": "talk", "model_version": "1", "text_output": right, "finish_reason": "length"}  # fmt: skip
    stream = talking.post("/v2/models/talk/versions/1/generate_stream", body)
    parts = [json.loads(data) for _, data in _events(stream.text)]
    assert "".join(one["text_output"] for one in parts) == right


@pytest.mark.parametrize("more, field", [
    ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": -1}, "max_tokens"), ({"n": 17}, "n"),
    ({"n": 10**6}, "n"), ({"temperature": -1}, "temperature"), ({"temperature": 1e9}, "temperature"),
    ({"top_p": 0}, "top_p"), ({"seed": 2**64}, None), ({"stop": ""}, "stop"), ({"stop": ["a"] * 17}, "stop"),
    ({"stop": "x" * 257}, "stop"), ({"stop": 3}, "stop"), ({"prompt": []}, "prompt"), ({"prompt": [[]]}, "prompt[0]"),
    ({"prompt": ""}, "prompt"), ({"prompt": [-1]}, "prompt"), ({"prompt": [10**6]}, "prompt"),
    ({"prompt": ["a", 1]}, "prompt"), ({"prompt": "a" * 600}, "prompt"), ({"echo": True}, "echo"),
    ({"logit_bias": {"5": 3}}, "logit_bias"), ({"logprobs": 21}, "logprobs"), ({"suffix": "x"}, "suffix"),
    ({"frequency_penalty": 1}, "frequency_penalty"), ({"prompt": ["a"] * 65}, "prompt"),
])  # fmt: skip
def test_bad_fields_are_named(talking, more, field):
    answer = talking.post("/v1/completions", _body(**more))
    assert answer.status_code in (400, 413), answer.text
    if field is not None:
        assert answer.json()["error"]["param"] == field


@pytest.mark.parametrize("more, field", [
    ({"messages": []}, "messages"), ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"), ({"tools": [{}]}, "tools"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
    ({"response_format": {"type": "json_object"}}, "response_format"), ({"top_logprobs": 2}, "top_logprobs"),
])  # fmt: skip
def test_bad_messages_are_named(talking, more, field):
    answer = talking.post("/v1/chat/completions", _chat(**more))
    assert answer.status_code == 400 and answer.json()["error"]["param"] == field, answer.text


def test_what_changes_nothing_is_taken(talking):
    more = {
        "frequency_penalty": 0,
        "logit_bias": {},
        "tools": None,
        "max_tokens": 10**9,
        "x_new": 1,
    }
    answer = talking.post("/v1/completions", _body(**more, stop="the"))
    assert answer.status_code == 200 and answer.headers["x-troupe-ignored"] == "x_new"
    parts = [{"type": "text", "text": "the "}, {"type": "text", "text": "inn"}]
    assert talking.post("/v1/chat/completions", _chat(parts)).status_code == 200
    assert talking.post("/v1/embeddings", {"model": "talk", "input": "x"}).status_code == 400


def test_metrics_have_the_streams(talking):
    _text(talking)
    text = talking.ask("GET", "/metrics").text
    assert 'troupe_serve_generation_tokens_total{model="talk"}' in text
    assert 'troupe_serve_requests_total{model="talk",outcome="length"}' in text
    assert 'troupe_serve_time_to_first_token_seconds_bucket{model="talk",le="+Inf"}' in text
    page = (pathlib.Path(__file__).parents[3] / "docs/serve/operations.md").read_text()
    of_streams = page.partition("A model that [generates]")[2].partition("## ")[0]
    names = re.findall(r"troupe_serve_\w+", of_streams)
    assert names and all(f"# TYPE {one} " in text for one in names)
