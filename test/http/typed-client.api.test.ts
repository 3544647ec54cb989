import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAdaptorServer } from '@hono/node-server';
import * as assert from 'uvu/assert';
import { plainPaths } from '../../api/areas.ts';
import { openapi } from '../../api/http/openapi.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const root = join(import.meta.dirname, '../..');
const modules = join(root, 'node_modules');
const fixtures = join(root, 'test/fixtures');
const p = await createTestPlatform();
const { dir } = createTempDirectory();
symlinkSync(modules, join(dir, 'node_modules'));
writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
copyFileSync(join(fixtures, 'typed-client-program.ts'), join(dir, 'program.ts'));
writeFileSync(join(dir, 'openapi.json'), JSON.stringify(openapi(p.operations, plainPaths, 'http://annals.test')));

/**
 * Runs Node with these arguments in the test's temporary directory. @returns everything that it writes to its two
 * output streams
 */
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, args, { cwd: dir, env: { ...process.env, NO_COLOR: '1', ...env } }).catch(
    (error: Error & { stdout?: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`);
    },
  );

const openapiTypescript = (...options: readonly string[]) =>
  run(['--import', join(fixtures, 'typescript-5-hook.mjs'), join(modules, 'openapi-typescript/bin/cli.js'), 'openapi.json', ...options]);

/** What openapi-typescript has printed about the document, one line per broken rule among others. */
let printed = '';

test('openapi-typescript generates a schema from the OpenAPI document with its default settings', async () => {
  // Beside this configuration file, openapi-typescript first checks the document with all recommended rules of the linter
  // Redocly. Without one, it checks fewer rules.
  writeFileSync(join(dir, 'redocly.yaml'), 'extends: [recommended]\n');
  printed = (await openapiTypescript('--output', 'schema.ts')).stderr;
});

test('the OpenAPI document passes all recommended rules of Redocly without a warning', () => {
  assert.equal(
    printed.split('\n').filter((line) => line.includes(' at #/')),
    [],
  );
});

test('a program that uses the generated schema with openapi-fetch compiles in strict mode', async () => {
  const modes = ['--target', 'esnext', '--module', 'nodenext', '--types', 'node'];
  const options = ['--strict', '--noEmit', '--allowImportingTsExtensions', '--checkers', '1', ...modes];
  await run([join(modules, 'typescript/bin/tsc'), ...options, 'program.ts']);
});

test('the compiled program creates, lists, updates and deletes resources', async () => {
  const server = createAdaptorServer({ fetch: p.app.fetch }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout } = await run(['program.ts'], { ANNALS_URL: url, ANNALS_KEY: p.key });
  server.close();
  assert.equal(JSON.parse(stdout), {
    ...{ kind: 'user', description: 'Reviews pull requests', outcomes: [], hasSecret: true },
    ...{ sameAgent: true, outdated: 'precondition_failed', deleted: 204 },
  });
});

afterLastTest(() => p.close());

test.run();
