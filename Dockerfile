# Burnish in an image: for jobs elsewhere, and for serving. `docker build -t NAME .` works in the root of the
# repository and in a folder that `burnish package` wrote.
# CPU: the default base. CUDA: --build-arg BASE=IMAGE, an image with CUDA, Python 3.11 or newer and torch 2.6 or newer.
# Without CUDA, most of an image is the CUDA that torch brings from PyPI: --build-arg TORCH_INDEX=URL takes torch from
# another index, such as PyTorch's own of wheels for CPUs.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
ARG EXTRAS=gcp,serve,tensorboard
ARG TORCH_INDEX=
WORKDIR /context
COPY . .
# What the base has already, such as its torch, is used and not installed again; nor do the locked versions replace it.
RUN python -m venv --system-site-packages /opt/burnish \
    && touch requirements.lock \
    && sed -E '/^(torch|triton|nvidia-.*)==/d' requirements.lock > /tmp/versions.txt \
    && found="$(find . -maxdepth 1 -name 'burnish-*.whl')" \
    && if [ -n "${TORCH_INDEX}" ]; then \
        /opt/burnish/bin/python -m pip install --no-cache-dir --index-url "${TORCH_INDEX}" 'torch>=2.6'; \
    fi \
    && /opt/burnish/bin/python -m pip install --no-cache-dir -c /tmp/versions.txt "${found:-.}[${EXTRAS}]" \
    && mkdir -p files /work \
    && cp -r files/. /work/

FROM ${BASE}
# The folder itself belongs to the user too, who writes runs and caches below it.
RUN mkdir -p /work && chown 1000:1000 /work
COPY --from=build /opt/burnish /opt/burnish
COPY --from=build --chown=1000:1000 /work /work
ENV PATH=/opt/burnish/bin:${PATH} PYTHONUNBUFFERED=1 HOME=/work
WORKDIR /work
USER 1000
EXPOSE 8080
# Of a server; a container that does something else is always healthy.
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s CMD ["python", "-m", "burnish.serve.healthcheck"]
ENTRYPOINT ["burnish"]
CMD ["--help"]
