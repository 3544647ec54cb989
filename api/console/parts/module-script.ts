import { jsx, useContext } from 'hono/jsx';
import { AssetBase } from './icon.ts';

const ModuleScript = ({ file }: { file: string }) => jsx('script', { type: 'module', src: `${useContext(AssetBase)}/${file}` });

/** Loads a browser module that only some pages of the console need. */
export const moduleScript = (file: `${string}.mjs`) => jsx(ModuleScript, { file });
