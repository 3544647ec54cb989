import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { omit } from '../../domain/omit.ts';
import { bundleProgram } from '../processes/bundle-program.ts';
import { PROGRAM_ROOT } from '../program.ts';
import { compile } from './client-declarations.ts';

const ROOMS = ['domain', 'commands', 'projections', 'api', 'infra'];

/** Only a checkout needs these: Node 26 does not run TypeScript below node_modules, and npm installs what a package needs. */
const isPackaging = (file: string): boolean => /^infra\/(packages\/|ensure\.mjs$|client-main\.ts$)/.test(file);
const isLeftOut = (file: string): boolean => isPackaging(file) || /\.m?ts$/.test(file) || file.endsWith('tsconfig.json');

type ProjectPackage = Readonly<
  Record<'version' | 'description' | 'license' | 'optionalDependencies' | 'engines', unknown> & { dependencies: Record<string, string> }
>;

/** The platform and its commands, in the layout of a checkout: types are removed, imports adapted, and files read at run time copied. */
export const writePlatformPackage = (dir: string, project: ProjectPackage): void => {
  compile(
    { outDir: dir },
    globSync(`{${ROOMS.join(',')}}/**/*.ts`, { cwd: PROGRAM_ROOT }).filter((file) => !isPackaging(file)),
  );
  for (const file of globSync(`{${ROOMS.join(',')}}/**/*`, { cwd: PROGRAM_ROOT, withFileTypes: false }))
    if (/\.\w+$/.test(file) && !isLeftOut(file)) cpSync(join(PROGRAM_ROOT, file), join(dir, file));
  for (const file of globSync('infra/**/*.mjs', { cwd: dir }))
    writeFileSync(join(dir, file), readFileSync(join(dir, file), 'utf8').replace(/((?:from|import\() ?'\.[^']*)\.ts'/g, "$1.js'"));
  bundleProgram(PROGRAM_ROOT, dir);
  for (const name of ['README.md', 'LICENSE', 'docs']) cpSync(join(PROGRAM_ROOT, name), join(dir, name), { recursive: true });
  cpSync(join(PROGRAM_ROOT, 'docs/changelog.md'), join(dir, 'CHANGELOG.md'));
  const { version, description, license, engines, optionalDependencies } = project;
  const dependencies = omit(project.dependencies, 'esbuild');
  writeFileSync(
    join(dir, 'package.json'),
    JSON.stringify(
      {
        ...{ name: 'annals', version, description, license, type: 'module', engines, bin: { annals: 'infra/annals.mjs' } },
        ...{ dependencies, optionalDependencies },
      },
      null,
      2,
    ),
  );
};
