import { assetUrl, element } from './tags.ts';

/** Renders the script element of a browser module that only some pages need. */
export const moduleScript = (file: `${string}.mjs`) => element('script', { type: 'module', src: assetUrl(file) });
