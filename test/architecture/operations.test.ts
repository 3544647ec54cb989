import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf, plainPaths } from '../../api/areas.ts';

/** The operations that the platform must have, read from a file with one method and path on each line. */
const required = readFileSync(join(import.meta.dirname, 'operations.txt'), 'utf8')
  .trimEnd()
  .split('\n');

const lineOf = (method: string, path: string): string => `${method.toUpperCase().padEnd(6)} ${path.replace(/:(\w+)/g, '{$1}')}`;

/** Removes the names of the path parameters from an operation's path, because callers never send these names. */
const shapeOf = (line: string): string => line.replace(/\{\w+\}/g, '{}');

const operations = Object.values(operationsOf({} as Parameters<typeof operationsOf>[0]));
const existing = [
  ...operations.map(({ method, path }) => lineOf(method, path)),
  ...Object.entries(plainPaths).flatMap(([path, methods]) => Object.keys(methods).map((method) => lineOf(method, path))),
];
const shapes = new Set(existing.map(shapeOf));

test('the list of required operations contains no operation twice', () => {
  assert.ok(required.length > 200);
  assert.is(new Set(required).size, required.length);
});

test('the OpenAPI document has every operation of the list of required operations', () =>
  assert.equal(
    required.filter((line) => !shapes.has(shapeOf(line))),
    [],
  ));

test.run();
