import type { Area, Needs } from '../area.ts';
import { marketplaceOperationsOf } from './listing.ts';
import { versionUpload } from './publish-version.ts';

export const marketplaceArea = {
  title: 'Marketplace',
  description: 'Skills that tenants offer to all tenants, in versions that never change.',
  operations: ({ unpack, parseYaml }: Needs<'unpack' | 'parseYaml'>) => marketplaceOperationsOf({ unpack, parseYaml }),
  plainRoutes: [versionUpload],
} satisfies Area;
