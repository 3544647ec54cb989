import type { Area } from '../area.ts';
import { pictures } from './picture.ts';
import { fileScan } from './scan.ts';
import { storedFiles } from './stored-file.ts';

export const filesArea = {
  title: 'Files',
  operations: () => ({}),
  plainRoutes: [storedFiles, pictures, fileScan],
} satisfies Area;
