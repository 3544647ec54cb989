import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { operationsOf, plainPaths } from '../../api/areas.ts';
import { openapi } from '../../api/http/openapi.ts';
import { PROGRAM_ROOT } from '../program.ts';
import { type OpenApi, operationDeclarations, schemaDeclarations } from './operation-declarations.ts';
import { runnerDeclarations } from './runner-declarations.ts';

/** The modules whose types users see. They name their types, so that the compiler need not infer any. */
const MODULES = [
  'infra/client/create-client.ts',
  'infra/client/typed-client.ts',
  'api/http/answer.ts',
  'infra/runner/runner-client.ts',
  'infra/runner/runner-session.ts',
  'infra/runner/budget-refusal.ts',
  'domain/refusal.ts',
];

export const compile = (compilerOptions: object, files: readonly string[]): void => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-pack-'));
  const options = {
    ...{ target: 'esnext', module: 'nodenext', lib: ['esnext'], types: [], rootDir: PROGRAM_ROOT },
    // Every file is compiled by itself, and nothing is checked: `npm run check` does that.
    ...{ noCheck: true, noResolve: true, isolatedModules: true, verbatimModuleSyntax: true, rewriteRelativeImportExtensions: true },
    ...compilerOptions,
  };
  const settings = { compilerOptions: options, files: files.map((file) => join(PROGRAM_ROOT, file)) };
  try {
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(settings));
    execFileSync(process.execPath, [join(PROGRAM_ROOT, 'node_modules/typescript/bin/tsc'), '-p', dir], { stdio: ['ignore', 2, 2] });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/** The imports of other declaration files become imports of files in the same directory. */
const IMPORT = /(from ')\.[^']*?([\w-]+)\.ts(')/g;

const flatten = (text: string): string => text.replace(IMPORT, '$1./$2.js$3');

const declarationsOf = (modules: readonly string[]): Record<string, string> => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-types-'));
  try {
    compile({ declaration: true, emitDeclarationOnly: true, isolatedDeclarations: true, outDir: dir }, modules);
    const emitted = (readdirSync(dir, { recursive: true }) as string[]).filter((file) => file.endsWith('.d.ts'));
    return Object.fromEntries(emitted.map((file) => [basename(file), flatten(readFileSync(join(dir, file), 'utf8'))]));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

const importsIn = (text: string): string[] => [...text.matchAll(/from '([^']+)'/g)].map(([, name]) => name!);

/** @throws Error if a declaration file imports something that the package does not contain */
const checkImports = (files: Readonly<Record<string, string>>): void => {
  for (const [file, text] of Object.entries(files)) {
    const missing = importsIn(text).find((name) => !(name.replace(/^\.\/(.*)\.js$/, '$1.d.ts') in files));
    if (missing)
      throw new Error(`the types of annals-client import ${missing} in ${file}: see MODULES in infra/packages/client-declarations.ts`);
  }
};

/** Returns the declaration files of the package annals-client, by their names. All of them lie in the same directory. */
export const clientDeclarations = (): Record<string, string> => {
  const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);
  const document = openapi(operations, plainPaths, 'http://127.0.0.1:4100') as OpenApi;
  const files = {
    ...declarationsOf(MODULES),
    'schemas.d.ts': schemaDeclarations(document),
    'operation-types.d.ts': operationDeclarations(document),
    'api-types.d.ts': runnerDeclarations(document),
  };
  checkImports(files);
  return files;
};

export const writeDeclarations = (dir: string): void => {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries(clientDeclarations())) writeFileSync(join(dir, name), text);
};
