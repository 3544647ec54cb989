import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ICONS } from '../../api/console/parts/icon.ts';
import { PROGRAM_ROOT } from '../program.ts';

type Asset = {
  readonly type: `${string}/${string}`;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer> | null;
};

export type ConsoleAssets = {
  /** Contains a digest of the assets, so browsers may cache them forever. */
  readonly base: string;
  readonly find: (path: string) => Asset | null;
};

const require = createRequire(import.meta.url);
const CONSOLE = join(PROGRAM_ROOT, 'api/console');
/** The files that make up the style sheet, in this order. */
const STYLES = [
  'tokens', 'base', 'sidebar', 'frame', 'parts', 'lists', 'table', 'menu', 'details', 'fields', 'combobox', 'forms', 'audit', 'access', 'chart',
  'sessions', 'costs', 'steps', 'integrations', 'deliveries', 'reasons', 'schedules', 'time', 'live', 'palette', 'sign-in', 'overview',
  'forced-colors',
] as const; // biome-ignore format: a list of names
/**
 * Modules of every page that no other module imports. Served as one file with the element for relative times, because each further file
 * delays the first visit. Each of them is a block there, so that their names do not collide.
 */
const COMMON_MODULES: readonly string[] = [
  ...['copy-button.mjs', 'keyboard.mjs', 'time-slider.mjs', 'command-palette.mjs', 'open-beside.mjs', 'zone-offer.mjs', 'kept-form.mjs'],
];
/** A module that only `live.mjs` imports. It is served within that, because each further file delays the first visit of a page. */
const PACE = 'refresh-pace.mjs';
const DIGEST_CHARACTERS = 16;

const packageFile = (name: string, file: string): Promise<Buffer> => readFile(join(dirname(require.resolve(`${name}/package.json`)), file));

/** Reads a file from the folder of a package's main file. Used for a package that does not export its package.json. */
const mainFolderFile = (name: string, file: string): Promise<Buffer> => readFile(join(dirname(require.resolve(name)), file));

type IconSet = {
  readonly icons: Readonly<Record<string, { readonly body: string }>>;
  readonly aliases?: Readonly<Record<string, { parent: string }>>;
};

/** @throws Error that names an icon that is missing in the icon set */
const iconSprite = async (): Promise<string> => {
  const { icons, aliases = {} } = JSON.parse(String(await packageFile('@iconify-json/lucide', 'icons.json'))) as IconSet;
  const symbols = ICONS.map((name) => {
    const found = icons[name] ?? icons[aliases[name]?.parent ?? ''];
    if (!found) throw new Error(`the icon set has no icon ${name}`);
    return `<symbol id="${name}" viewBox="0 0 24 24">${found.body}</symbol>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`;
};

const FAVICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#4f46e5"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"><circle cx="16" cy="16" r="4.2"/><path d="M5.5 16h6.3M20.2 16h6.3"/></g></svg>`;

const IMPORT = /^import .*\n/gm;

/** Each module becomes its own block, after the imports of all. The result exports nothing. */
const joined = (first: string, modules: readonly string[]): string => {
  const imports = new Set(modules.flatMap((text) => text.match(IMPORT) ?? []));
  return [...imports, first, ...modules.map((text) => `{\n${text.replace(IMPORT, '').replaceAll(/^export /gm, '')}}`)].join('\n');
};

const IMPORT_OF_PACE = new RegExp(`^import .* from '\\./${PACE}';\n`, 'm');

/** Matches block comments. They are not served: they are a fifth of the compressed size of the modules. */
const COMMENT = /\/\*[\s\S]*?\*\//g;

/** Returns a style sheet without comments and indentation. */
const compact = (css: string): string => css.replaceAll(COMMENT, '').replaceAll(/^\s+/gm, '');

/** The style sheets that only some pages need, each with its source files. */
const OWN_STYLES = [
  ['guides', ['guides']],
  ['form-page', ['form-page', 'form-rows']],
] as const;

const contents = async (): Promise<readonly (readonly [string, Asset['type'], string | Buffer])[]> => {
  const modules: readonly string[] = (await readdir(join(CONSOLE, 'browser'))).filter((file) => file.endsWith('.mjs'));
  const styles = await Promise.all(STYLES.map((name) => readFile(join(CONSOLE, 'style', `${name}.css`), 'utf8')));
  const [geist, mono, relativeTime, morph, sprite] = await Promise.all([
    packageFile('@fontsource-variable/geist', 'files/geist-latin-wght-normal.woff2'),
    packageFile('@fontsource-variable/geist-mono', 'files/geist-mono-latin-wght-normal.woff2'),
    mainFolderFile('@github/relative-time-element', 'bundle.js'),
    readFile(require.resolve('idiomorph/dist/idiomorph.min.js')),
    iconSprite(),
  ]);
  const own = new Map(
    await Promise.all(
      modules.map(async (file) => [file, (await readFile(join(CONSOLE, 'browser', file), 'utf8')).replaceAll(COMMENT, '')] as const),
    ),
  );
  return [
    ['console.css', 'text/css; charset=utf-8', compact(styles.join('\n'))],
    ...(await Promise.all(
      OWN_STYLES.map(async ([name, files]) => {
        const parts = await Promise.all(files.map((file) => readFile(join(CONSOLE, `style/${file}.css`), 'utf8')));
        return [`${name}.css`, 'text/css; charset=utf-8', parts.join('\n')] as const;
      }),
    )),
    ['geist.woff2', 'font/woff2', geist],
    ['geist-mono.woff2', 'font/woff2', mono],
    ['icons.svg', 'image/svg+xml', sprite],
    ['favicon.svg', 'image/svg+xml', FAVICON],
    // The package has a minified file only as a classic script, so an export is added.
    ['idiomorph.mjs', 'text/javascript', `${morph}\nexport { Idiomorph };`],
    [
      'console.mjs',
      'text/javascript',
      joined(
        relativeTime.toString(),
        COMMON_MODULES.map((file) => own.get(file)!),
      ),
    ],
    ...[...own].flatMap(([file, text]) => {
      if (COMMON_MODULES.includes(file) || file === PACE) return [];
      return [[file, 'text/javascript', text.replace(IMPORT_OF_PACE, () => own.get(PACE)!.replaceAll(/^export /gm, ''))] as const];
    }),
  ];
};

const compress = promisify(gzip);

const assetOf = async (type: Asset['type'], content: string | Buffer): Promise<Asset> => {
  const bytes = new Uint8Array(Buffer.from(content));
  return { type, bytes, gzip: type.startsWith('font/') ? null : new Uint8Array(await compress(bytes)) };
};

/** Reads the scripts, styles, fonts and icons of the console from this directory and from packages. */
export const loadConsoleAssets = async (): Promise<ConsoleAssets> => {
  const files = await contents();
  const digest = createHash('sha256');
  for (const [name, , content] of files) digest.update(name).update(content);
  const base = `/console/assets/${digest.digest('hex').slice(0, DIGEST_CHARACTERS)}`;
  const assets = new Map<string, Asset>();
  for (const [name, type, content] of files) assets.set(`${base}/${name}`, await assetOf(type, content));
  return { base, find: (path) => assets.get(path) ?? null };
};
