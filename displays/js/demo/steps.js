// Made of demo/service.toml by scripts/demo/make_sermon.py.
export const STEPS = [
  {"from": 0.5, "name": "greeting", "says": "A welcome: Spanish on the wall, French on the phone, both while she speaks."},
  {"from": 6.7888, "name": "names", "says": "Names: they stand in the preacher's notes, so they are spelt as there."},
  {"from": 14.3154, "name": "numbers", "says": "A date and a number: each translation is compared with what was said."},
  {"from": 18.6861, "name": "psalm", "says": "A psalm is read: the wall shows the printed verses of a Spanish Bible, not a machine's translation."},
  {"from": 31.3006, "name": "message", "says": "A preacher who pauses in the middle of a sentence: nothing is lost, and nothing is said twice."},
  {"from": 49.9436, "name": "term", "says": "A prophet's name that was misheard: the dictionary puts it right before it is translated."},
  {"from": 57.0867, "name": "quotation", "says": "A verse quoted without its number: it is found by its words, and the operator shows it."},
  {"from": 66.7877, "name": "hymn", "says": "A hymn: captions rest until somebody speaks again."},
  {"from": 78.7016, "name": "correction", "says": "A name that nobody knew: the operator corrects what was heard, and every language follows."},
  {"from": 93.7709, "name": "blessing", "says": "A blessing, and the end."},
];
