// Made of demo/service.toml by scripts/demo/make_sermon.py.
export const STEPS = [
  {"from": 0.5, "name": "greeting", "says": "A welcome: Spanish on the wall, French on the phone, both while she speaks."},
  {"from": 6.7888, "name": "names", "says": "Names: they stand in the preacher's notes, so they are spelt as there."},
  {"from": 13.3205, "name": "numbers", "says": "A date and a number: each translation is compared with what was said."},
  {"from": 17.39, "name": "psalm", "says": "A psalm is read: the wall shows the printed verses of a Spanish Bible, not a machine's translation."},
  {"from": 30.0045, "name": "message", "says": "A preacher who pauses in the middle of a sentence: it stays one sentence."},
  {"from": 49.3611, "name": "term", "says": "A prophet's name that was misheard: the dictionary puts it right before it is translated."},
  {"from": 56.5042, "name": "quotation", "says": "A verse quoted without its number: it is found by its words, and the operator shows it."},
  {"from": 66.2053, "name": "hymn", "says": "A hymn: captions rest until somebody speaks again."},
  {"from": 78.1192, "name": "correction", "says": "A name that nobody knew: the operator corrects what was heard, and every language follows."},
  {"from": 93.3666, "name": "blessing", "says": "A blessing, and the end."},
];
