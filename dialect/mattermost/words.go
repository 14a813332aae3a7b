package mattermost

import (
	"strings"
	"sync"
)

// vocabulary holds the words that persons write: every stem with every beginning and ending, about
// ten thousand words of 7.5 letters on average, as load-test-ng's list has. They are words to a
// full-text index, which stems them like others.
var vocabulary = sync.OnceValue(func() []string {
	var words []string
	for stem := range strings.FieldsSeq(stems) {
		for _, begin := range []string{"", "re", "un", "out", "over"} {
			for _, end := range []string{"", "s", "ed", "ing", "er", "ly"} {
				words = append(words, begin+stem+end)
			}
		}
	}
	return words
})

const stems = `
	act add aid aim air ant arc arm art ask bag bank bar base bat bay beam bear beat bell belt bend best bet bid bill bind bird bit blank
	block blow board boat bold bolt bond book boot born boss bow box brand break brew brick brief bring broad brush build bulk burn bush
	call calm camp cap car card care cart case cast cell chain chair chalk charm chart chat check cheer chest chief chill chip clean clear
	clerk climb clock cloth cloud club coach coal coast coat code coin cold comb cook cool cord core corn cost count court craft crash
	crew crop cross crowd crown cup curl cut damp dark dash dawn day deal dear deck deep desk dial dig dip dish dock door dot doubt down
	draft drain draw dream dress drift drill drink drop drum dry duck dust duty ear earn east eat edge end err eye fact fair fall farm
	fast feed feel felt few field fight fill film find firm fish fit fix flag flash flat float flood floor flow fly foam fog fold food
	foot force fork form fort frame free fresh front frost fruit fuel full fun gain game gap gas gate gear gift give glad glass glow goal
	gold good grain grand grant grass gray green grid grip ground group grow guard guess guide half hall hand hang hard harm hat head heal
	heap hear heat heavy help high hill hint hit hold hole hook hope horn host hour huge hull hunt ice inch iron jam jar jet job join joint
	joke judge jump keel keen keep key kick kind king kit knot know lab lack lake lamp land lane large last late laugh law lay lead leaf
	lean learn left lend level lid lift light limit line link list live load loan lock log long look loop loud low luck main make map mark
	mast match meal mean meet melt mend milk mill mind mint mist mix mood moon moor more move name near neat need nest net new night`
