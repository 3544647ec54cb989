import { jsx, useContext } from 'hono/jsx';
import { AssetBase } from './icon.ts';

const ModuleScript = ({ file }: { file: string }) => jsx('script', { type: 'module', src: `${useContext(AssetBase)}/${file}` });

/** Renders the script element of a browser module that only some pages need. */
export const moduleScript = (file: `${string}.mjs`) => jsx(ModuleScript, { file });
