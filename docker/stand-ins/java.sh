#!/bin/sh
# Stands for the Java of DynamoDB Local: dynalite on the port that DynamoDB Local has.
exec node /opt/npm/node_modules/dynalite/cli.js --port 8000
