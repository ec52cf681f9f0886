"""Reads a folder of event files with TensorBoard's reader, which checks all checksums, and prints the contents as JSON.

usage: read_events.py FOLDER     needs tensorboard, and Pillow for the pixels of images
"""
import io
import json
import sys

from tensorboard.backend.event_processing import event_accumulator

try:
    from PIL import Image
except ImportError:
    Image = None


def main():
    everything = {kind: 0 for kind in event_accumulator.DEFAULT_SIZE_GUIDANCE}
    reader = event_accumulator.EventAccumulator(sys.argv[1], size_guidance=everything)
    reader.Reload()
    tags = reader.Tags()
    found = {"scalars": {}, "histograms": {}, "images": {}, "tensors": {}}
    for tag in tags["scalars"]:
        found["scalars"][tag] = [[e.step, e.wall_time, repr(e.value)] for e in reader.Scalars(tag)]
    for tag in tags["histograms"]:
        found["histograms"][tag] = [
            {"step": e.step, "limits": e.histogram_value.bucket_limit, "counts": e.histogram_value.bucket,
             "min": e.histogram_value.min, "max": e.histogram_value.max, "num": e.histogram_value.num,
             "sum": e.histogram_value.sum, "sum_squares": e.histogram_value.sum_squares}
            for e in reader.Histograms(tag)]
    for tag in tags["images"]:
        found["images"][tag] = []
        for e in reader.Images(tag):
            pixels = None
            if Image:
                image = Image.open(io.BytesIO(e.encoded_image_string))
                pixels = {"mode": image.mode, "size": list(image.size), "values": list(image.tobytes())}
            found["images"][tag].append({"step": e.step, "width": e.width, "height": e.height, "pixels": pixels})
    for tag in tags["tensors"]:
        plugin = reader.SummaryMetadata(tag).plugin_data.plugin_name
        for e in reader.Tensors(tag):
            t = e.tensor_proto
            value = [s.decode() for s in t.string_val] or list(t.float_val) or list(t.double_val)
            found["tensors"].setdefault(tag, []).append({"step": e.step, "plugin": plugin, "value": value})
    print(json.dumps(found))


main()
