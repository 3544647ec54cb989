import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { placesIn } from './places.ts';
import { whileChanged } from './working-copy.ts';

const { dir } = createTempDirectory();
const SOURCES = { 'first.ts': 'const min = 1;\nconst max = 5;\n', 'second.ts': 'const isOn = true;\n' };
for (const [file, text] of Object.entries(SOURCES)) writeFileSync(join(dir, file), text);

const read = (): string[] => Object.keys(SOURCES).map((file) => readFileSync(join(dir, file), 'utf8'));
const places = Object.entries(SOURCES).flatMap(([file, text]) => placesIn(file, text));

test('changed files have the changes only while the call runs; afterwards, they have their earlier content', async () => {
  const changed = await whileChanged({ dir }, places, async () => read());
  equal(changed, ['const min = 2;\nconst max = 6;\n', 'const isOn = false;\n']);
  equal(read(), Object.values(SOURCES));
});

test('the changes are undone when the call fails', async () => {
  const failed = await whileChanged({ dir }, places, () => Promise.reject(new Error('expected'))).catch((error: Error) => error.message);
  is(failed, 'expected');
  equal(read(), Object.values(SOURCES));
});

test.run();
