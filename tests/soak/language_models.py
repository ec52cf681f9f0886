#!/usr/bin/env python3
"""Compares language models with Hugging Face transformers: files that Tandem saves load there without missing or
unexpected tensors and give the same logits; models saved there give the same loss and gradients in Tandem, among them a
GPT-2 of 124 million parameters with random weights.

usage: language_models.py PROGRAM    PROGRAM: language_models_program. Needs PyTorch, transformers and safetensors
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM)

CLASSES = {"bert": BertForSequenceClassification, "gpt": GPT2LMHeadModel, "llama": LlamaForCausalLM}
# Relative errors of float32 sums. GPT-2 adds up 12 layers of 768 to 3,072 features.
LIMITS = {"small": (1e-5, 1e-4), "large": (1e-4, 1e-3)}
failures = []


def check(what, ok):
    if not ok:
        failures.append(what)
        print(f"failed: {what}")


def relative(a, b, least=1e-12):
    return ((a - b).norm() / b.norm().clamp_min(least)).item()


def check_saved(program, folder):
    subprocess.run([program, "save", str(folder)], check=True)
    names = sorted(path.name for path in folder.iterdir())
    for name in names:
        model, info = CLASSES[name.split("_")[0]].from_pretrained(folder / name, output_loading_info=True)
        check(f"{name}: {info}", not any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")))
        expected = load_file(folder / name / "expected.safetensors")
        with torch.no_grad():
            error = relative(model.eval()(expected["input_ids"]).logits, expected["logits"])
        check(f"{name}: logits differ by {error:.1e}", error < 1e-5)
        if name == "bert":
            check(f"labels are {model.config.id2label}", model.config.id2label == {0: "bad", 1: "good", 2: "neutral"})
    print(f"{len(names)} saved models load in transformers {transformers.__version__}")


def check_gradients(program, folder, name, kind, model, ids, labels, limits):
    model.eval().save_pretrained(folder)
    save_file({"input_ids": ids, "labels": labels}, folder / "inputs.safetensors")
    subprocess.run([program, "gradients", kind, str(folder)], check=True)
    ours = load_file(folder / "outputs.safetensors")
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    loss_error = abs(ours["loss"].item() - loss.item()) / abs(loss.item())
    check(f"{name}: loss {ours['loss'].item()} instead of {loss.item()}", loss_error < limits[0])
    # Softmax ignores a constant that is added to all keys, so gradients of key biases are only rounding errors. Gradients
    # below a thousandth of the whole norm are therefore compared with that.
    least = 1e-3 * torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    errors = {k: relative(ours["gradient." + k], p.grad, least) for k, p in model.named_parameters()}
    worst = max(errors, key=errors.get)
    check(f"{name}: the gradient of {worst} differs by {errors[worst]:.1e}", errors[worst] < limits[1])
    count = sum(p.numel() for p in model.parameters())
    print(f"{name}: {count} parameters; loss {loss.item():.6f}, relative error {loss_error:.1e}; {len(errors)} gradients, the "
          f"largest relative error {errors[worst]:.1e} ({worst})")


def main():
    program = sys.argv[1]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "saved").mkdir()
        check_saved(program, folder / "saved")
        no_dropout = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, vocab_size=50)
        bert = BertConfig(**small, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=4, initializer_range=0.2)
        llama = LlamaConfig(**small, num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.2)
        ids = torch.randint(50, (4, 24))
        check_gradients(program, folder / "bert", "bert", "bert", BertForSequenceClassification(bert), ids,
                        torch.tensor([0, 3, 1, 2]), LIMITS["small"])
        check_gradients(program, folder / "llama", "llama", "llama", LlamaForCausalLM(llama), ids, ids.clone(), LIMITS["small"])
        ids = torch.randint(50257, (2, 128))
        check_gradients(program, folder / "gpt2", "gpt2", "gpt", GPT2LMHeadModel(GPT2Config(**no_dropout)), ids, ids.clone(),
                        LIMITS["large"])
    print(f"{len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
