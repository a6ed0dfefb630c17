#!/bin/bash
# Starts the data server, waits for its port, trains, stops the server.
set -e
rm -f server.port
python server.py --port-file server.port &
server=$!
trap 'kill $server' EXIT
while [ ! -s server.port ]; do sleep 0.05; done
python train.py --server "http://127.0.0.1:$(cat server.port)" "$@"
