import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { PROGRAM_ROOT } from '../program.ts';
import { writeDeclarations } from './client-declarations.ts';

/** The oldest version of Node with all functions that the client uses, such as Promise.withResolvers. */
const MIN_NODE_VERSION = 22;

/** Bundled packages that are CommonJS need `require` for the modules of Node. */
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);";

const packageOf = (input: string): string | undefined => /.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0];

/** Returns the licenses of the bundled packages, which demand to be passed on. */
const licensesOf = (inputs: readonly string[]): string =>
  [...new Set(inputs.map(packageOf).filter((path) => path !== undefined))]
    .sort()
    .map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(PROGRAM_ROOT, path, 'package.json'), 'utf8')) as Record<
        string,
        string
      >;
      const file = readdirSync(join(PROGRAM_ROOT, path)).find((entry) => /^licen[cs]e/i.test(entry));
      return `${name} ${version}, ${license}\n\n${file ? readFileSync(join(PROGRAM_ROOT, path, file), 'utf8').trim() : ''}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);

/**
 * Contains the typed client, the runner and the commands that need no server. Dependencies are bundled; the types name no other package.
 */
export const writeClientPackage = async (dir: string, { version, license }: { version: string; license: string }): Promise<void> => {
  const { metafile } = await build({
    absWorkingDir: PROGRAM_ROOT,
    entryPoints: { client: 'infra/client/create-client.ts', runner: 'infra/runner/runner-client.ts', main: 'infra/client-main.ts' },
    outdir: join(dir, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${MIN_NODE_VERSION}`,
    banner: { js: REQUIRE },
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  });
  const main = join(dir, 'dist/main.js');
  writeFileSync(main, `#!/usr/bin/env node\n${readFileSync(main, 'utf8')}`, { mode: 0o755 });
  writeDeclarations(join(dir, 'types'));
  writeFileSync(join(dir, 'THIRD-PARTY-LICENSES'), licensesOf(Object.keys(metafile.inputs)));
  writeFileSync(
    join(dir, 'package.json'),
    JSON.stringify(
      {
        name: 'annals-client',
        version,
        description: 'The typed client, the runner and the commands of the platform Annals',
        license,
        type: 'module',
        engines: { node: `>=${MIN_NODE_VERSION}` },
        bin: { 'annals-client': 'dist/main.js' },
        exports: {
          '.': { types: './types/create-client.d.ts', default: './dist/client.js' },
          './runner': { types: './types/runner-client.d.ts', default: './dist/runner.js' },
          './package.json': './package.json',
        },
      },
      null,
      2,
    ),
  );
  for (const [from, to] of [
    ['LICENSE', 'LICENSE'],
    ['docs/changelog.md', 'CHANGELOG.md'],
    ['docs/api.md', 'docs/api.md'],
    ['docs/runners.md', 'docs/runners.md'],
  ] as const)
    if (existsSync(join(PROGRAM_ROOT, from))) cpSync(join(PROGRAM_ROOT, from), join(dir, to));
};
