import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { manifestPath } from '../../domain/skills/manifest-path.ts';

/** [what writes such files, their paths] Each of them may lie beside the folder of a skill, in it, or deeper. */
const METADATA: readonly (readonly [source: string, ...paths: string[]])[] = [
  ['Finder, gitignore template macOS', '.DS_Store', '._greeter', '.AppleDouble/a', '.LSOverride', 'Icon\r', '._Icon\r', '.localized'],
  ['Archive Utility of macOS', '__MACOSX/._greeter', '__MACOSX/greeter/._SKILL.md'],
  ['macOS volumes', '.Spotlight-V100/x', '.Trashes/x', '.fseventsd/x', '.TemporaryItems/x', '.apdisk', 'Network Trash Folder/x'],
  ['Explorer, gitignore template Windows', 'Thumbs.db', 'THUMBS.DB', 'ehthumbs.db', 'ehthumbs_vista.db', 'desktop.ini', 'Desktop.ini'],
  ['Windows volumes', '$RECYCLE.BIN/desktop.ini', 'System Volume Information/x', 'RECYCLER/x'],
  ['Linux desktops, gitignore template Linux', '.directory', '.Trash-1000/x', '.nfs0001', '.fuse_hidden0001', 'lost+found/x'],
  ['Dropbox, gitignore template Dropbox', '.dropbox', '.dropbox.attr', '.dropbox.cache/x'],
  ['Nextcloud and ownCloud', '.sync_1a2b.db', '._sync_1a2b.db', '.owncloudsync.log'],
  ['Syncthing and Resilio', '.stfolder/x', '.stignore', '.stversions/x', '.sync/ID'],
  ['Google Drive', '.tmp.drivedownload/x', '.tmp.driveupload/x'],
  ['storage devices', '@eaDir/SKILL.md@SynoEAStream', '#recycle/x', '@Recycle/x'],
  ['office programs', '~$notes.docx', '.~lock.notes.odt#'],
  ['git', '.git/config', '.git', '.gitignore', '.gitattributes', '.gitmodules', '.gitkeep', '.github/workflows/test.yml'],
  ['other version control', '.svn/entries', '.hg/store', '.bzr/x', '.jj/x', 'CVS/Entries', '_darcs/x', '.hgignore'],
  ['git archive --format=tar', 'pax_global_header'],
  ['editors', '.idea/x.xml', '.vscode/settings.json', '.editorconfig'],
];

test('files that programs add to archives do not hide the only folder of a skill, wherever they are', () => {
  for (const [source, ...paths] of METADATA)
    for (const path of paths) {
      assert.is(manifestPath(['greeter/SKILL.md', path]), 'greeter/SKILL.md', `${source}: ${path}`);
      assert.is(manifestPath([`greeter/${path}`, 'greeter/SKILL.md']), 'greeter/SKILL.md', `${source}: ${path}`);
      assert.is(manifestPath(['x/greeter/SKILL.md', `x/${path}`]), 'x/greeter/SKILL.md', `${source}: ${path}`);
    }
});

test('the manifest is at the root, or in the only folder of the only folder', () => {
  assert.is(manifestPath(['SKILL.md', 'a/SKILL.md', 'b']), 'SKILL.md');
  assert.is(manifestPath(['repo-main/SKILL.md', 'repo-main/README.md', 'repo-main/docs/a.md']), 'repo-main/SKILL.md');
  assert.is(manifestPath(['greeter/greeter/SKILL.md', 'greeter/greeter/scripts/a.py']), 'greeter/greeter/SKILL.md');
  assert.is(manifestPath(['.greeter/SKILL.md']), '.greeter/SKILL.md');
});

/** [the paths, what the refusal says was found, and what to do] */
const REFUSED: readonly (readonly [paths: readonly string[], message: RegExp])[] = [
  [[], /it has no files: pack the folder/],
  [['.DS_Store'], /it has no files/],
  [['README.md', 'docs/a.md'], /it has "README\.md", "docs\/": add the file/],
  [['skill.md'], /it has "skill\.md": name it SKILL\.md/],
  [['greeter/Skill.md', 'greeter/a'], /it has "greeter\/Skill\.md": name it SKILL\.md/],
  [['SKILL.md.txt'], /it has "SKILL\.md\.txt": name it SKILL\.md/],
  [['a/SKILL.md', 'b/SKILL.md'], /it has "a\/SKILL\.md", "b\/SKILL\.md": pack each skill alone/],
  [['a/SKILL.md', 'README.md'], /it has "a\/", "README\.md" and the file at "a\/SKILL\.md": pack its folder alone/],
  [['greeter.zip'], /it has only the archive "greeter\.zip": send that one/],
  [['f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7'], /"f5" and 2 more: add the file/],
];

test('without a manifest at its place, the refusal says what the archive must have, what it has, and what to do', () => {
  for (const [paths, message] of REFUSED)
    try {
      manifestPath(paths);
      assert.unreachable(String(paths));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      assert.match(error.message, /^The archive must have the file SKILL\.md at its root or in its only folder, but it has /);
      assert.match(error.message, message);
    }
});

test.run();
